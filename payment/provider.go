package payment

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/namewharf/namewharf/money"
)

// A Provider takes money from buyers. Its page is where the buyer pays; it then holds the money (authorised) until it is asked
// to take it (capture) or to let go of it (void).
//
// Every call is idempotent by the id of the payment: made again, in another process or after a crash, it does nothing twice
// and reports the status. Every call is bounded in time by its context, of which [CallTime] is left, and reads a bounded
// answer. A failure wraps exactly one of [ErrDeclined], [ErrUnavailable], [ErrUnknown] and [ErrFinal]; any other failure is
// taken for [ErrUnknown]. No failure holds a secret, a card number or what a buyer typed. It is safe for concurrent use.
type Provider interface {
	// Name is stored with payments. It never changes.
	Name() string
	// Start opens an attempt to pay, which the provider ends by itself at or soon after the time in o.
	Start(ctx context.Context, o Opening) (Opened, error)
	// Status asks for the status of the payment.
	Status(ctx context.Context, p Payment) (Report, error)
	// Capture takes what is held, all of it. It is called only for a payment that has an order.
	Capture(ctx context.Context, p Payment) (Report, error)
	// Void sees to it that nothing is held and nothing can be paid any more. Where the money was taken already it changes
	// nothing and reports that.
	Void(ctx context.Context, p Payment) (Report, error)
	// Refund gives back what was taken, all of it.
	Refund(ctx context.Context, p Payment) (Report, error)
	// Notice reads what the provider sent by itself, of at most [MaxNotice] bytes. It fails with [ErrSignature] unless the
	// provider signed it within the last [NoticeTolerance].
	Notice(header http.Header, body []byte) (Notice, error)
}

// A Disputer is a [Provider] that plays disputes on request. Others report disputes by themselves.
type Disputer interface {
	// Dispute lets the buyer dispute a payment. It fails with [ErrFinal] where that cannot be.
	Dispute(ctx context.Context, p Payment) error
}

// How calls of a provider fail.
var (
	// ErrDeclined: the buyer's bank said no, for good. No money moved by this call. The same payment will not succeed; the
	// buyer may begin another.
	ErrDeclined = errors.New("payment: declined")
	// ErrUnavailable: the provider did not take the request, because it cannot be reached, is overloaded or does not accept
	// our key. Nothing happened by it. It is repeated later, each time after a longer wait.
	ErrUnavailable = errors.New("payment: the provider is unavailable")
	// ErrUnknown: the request may or may not have taken effect. It is repeated as one that was not taken; since calls are
	// idempotent and report the status, that is how to ask again.
	ErrUnknown = errors.New("payment: the provider's answer is not known")
	// ErrFinal: the provider refuses, and repeating does not help in this status. [Provider.Status] reports it.
	ErrFinal = errors.New("payment: the provider refuses")
	// ErrSignature: a notice was not signed by the provider, or too long ago.
	ErrSignature = errors.New("payment: the notice is not signed by the provider")
)

// Limits of what providers do.
const (
	CallTime        = 20 * time.Second
	AttemptLife     = 30 * time.Minute // for the buyer to pay
	NoticeTolerance = 5 * time.Minute  // between signing and receipt of a notice
	MaxNotice       = 256 << 10        // bytes
)

// An Opening is the request of [Provider.Start].
type Opening struct {
	ID        string // of the payment
	Amount    money.Amount
	Title     string // what is paid for, one line that the buyer reads
	Email     string // of the buyer, for the provider's form; may be empty
	ReturnURL string // where the buyer's browser comes back to after it paid
	CancelURL string // where it comes back to otherwise
	ExpiresAt time.Time
}

// Opened is an attempt to pay that a provider waits for.
type Opened struct {
	Reference string // the provider's
	PageURL   string // where the buyer pays
	ExpiresAt time.Time
}

// A Status is the state of a payment at its provider.
type Status string

// The statuses.
const (
	Open        Status = "open"         // nothing is held; the buyer may pay still
	Held        Status = "held"         // all is held, to be captured or voided
	Taken       Status = "taken"        // all was captured, and a dispute about it was won or there was none
	Void        Status = "void"         // nothing is held, and nothing can be paid any more: expired, cancelled, declined or voided
	GivenBack   Status = "given back"   // all of it was refunded
	InDispute   Status = "in dispute"   // the buyer's bank asks for it back
	ChargedBack Status = "charged back" // the buyer's bank took it back
)

// A Report is the state of a payment at its provider.
type Report struct {
	Status Status
	Amount money.Amount // what is or was held; zero where nothing ever was
	Charge string       // the provider's name of the money; empty where there never was any
}

// A Notice is what a provider sent by itself. It says which payment to look after, and no more: its status is
// asked for, so that notices that come late, twice, in another order or never make no difference but when.
type Notice struct {
	ID      string // of the notice; the same one has the same id each time it is sent
	Payment string // id of the payment; empty where the provider did not say
	Charge  string // the provider's name of the money, where Payment is empty
}
