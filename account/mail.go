package account

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/netip"
)

// A Message is a plain-text mail to one recipient.
type Message struct {
	To, Subject, Text string
}

// A Mailer sends mail. Send returns once the mail server has accepted the mail. It is called from several background
// goroutines, and its errors are logged: they must not hold the mail's text.
type Mailer interface {
	Send(ctx context.Context, m Message) error
}

// LogMail writes mail to the log, links included, for a server without a mail server. A reader of the log can sign in as
// any user until the links expire.
func LogMail(l *slog.Logger) Mailer { return logMail{l} }

type logMail struct{ log *slog.Logger }

func (m logMail) Send(ctx context.Context, msg Message) error {
	m.log.InfoContext(ctx, "mail", "to", msg.To, "subject", msg.Subject, "text", msg.Text)
	return nil
}

// A mailTemplate is the text of a mail, with %s for the link or, without one, the base URL.
type mailTemplate struct {
	purpose purpose // of the token in its link; empty: there is none
	path    string  // of its link; empty: the one of the purpose
	subject string
	text    string
	always  bool // sent even over the recipient's quota: the owner must learn of it
}

const (
	signature = "\n\nNamewharf\n"
	ignore    = "\n\nIf this was not you, ignore this mail: nothing happens unless the link is used."
)

var (
	verifyMail = mailTemplate{purpose: toVerify, subject: "Confirm your e-mail address", text: "Welcome to Namewharf. Please confirm that this address is yours:\n\n%s\n\nThe link works for two days." + ignore + signature}
	signInMail = mailTemplate{purpose: toSignIn, subject: "Your sign-in link", text: "Sign in to Namewharf with this link:\n\n%s\n\nIt works once, within 15 minutes." + ignore + signature}
	resetMail  = mailTemplate{purpose: toReset, subject: "Set a new password", text: "Set a new password for Namewharf here:\n\n%s\n\nThe link works once, within an hour." + ignore + signature}

	pendingMail = mailTemplate{purpose: toVerify, path: ResetPath, subject: "Confirm your e-mail address", text: "Someone, perhaps you, signed up at Namewharf with this address. The address had been used to sign up before, but was never confirmed. Set your password here to take over the account. Passwords, passkeys and linked accounts that were set up before are removed:\n\n%s\n\nThe link works once, within two days." + ignore + signature}

	repeatedMail       = mailTemplate{subject: "You have an account already", text: "Someone, perhaps you, gave this address to sign up at Namewharf. It has an account already, and nothing was changed.\n\nIf you forgot the password, set a new one:\n\n%s" + ForgotPath + signature}
	firstPasswordMail  = noticeMail("A password was set", "A first password was set for your account at Namewharf. All browsers and apps were signed out.")
	passkeyAddedMail   = noticeMail("A passkey was added", "A passkey was added to your account at Namewharf. It can be used to sign in.")
	passkeyRemovedMail = noticeMail("A passkey was removed", "A passkey was removed from your account at Namewharf.")
	linkedMail         = noticeMail("An account elsewhere was linked", "An account at another service was linked to your account at Namewharf. It can be used to sign in here.")
	unlinkedMail       = noticeMail("An account elsewhere was unlinked", "An account at another service was unlinked from your account at Namewharf. It can no longer be used to sign in.")
	deletedMail        = mailTemplate{subject: "Your account was deleted", always: true, text: "Your account at Namewharf was deleted as you asked, with its names, offers and apps. You may sign up with this address again:\n\n%s" + SignUpPath + signature}

	changedMail = mailTemplate{subject: "Your password was changed", text: "The password of your account at Namewharf was changed, and all browsers and apps were signed out.\n\nIf this was not you, set a new one at once:\n\n%s" + ForgotPath + signature, always: true}
)

// noticeMail is a mail about a change that the owner must learn of, sent even over the quota.
func noticeMail(subject, what string) mailTemplate {
	return mailTemplate{subject: subject, always: true, text: what + "\n\nIf this was not you, set a new password at once. That signs out all browsers and apps, and removes passkeys and linked accounts that somebody else may have added:\n\n%s" + ForgotPath + signature}
}

// ForgotPath is the page that takes an e-mail address to [Accounts.RequestReset].
const ForgotPath = "/forgot"

// RequestVerification mails the account another link that verifies its address. It does nothing when that is verified.
func (a *Accounts) RequestVerification(ctx context.Context, accountID string) error {
	row, err := a.find(ctx, "id", accountID)
	if err == nil && !row.Verified {
		a.mailToken(row.Account, verifyMail)
	}
	return err
}

// RequestLink mails a sign-in link to the address, if it has an account; the answer is the same if not.
// It fails with [fault.Validation] on a malformed address, and with [fault.RateLimited].
func (a *Accounts) RequestLink(_ context.Context, email string, from netip.Addr) error {
	return a.requestMail(email, from, signInMail)
}

// RequestReset mails a link at which the person sets a new password, like [Accounts.RequestLink].
func (a *Accounts) RequestReset(_ context.Context, email string, from netip.Addr) error {
	return a.requestMail(email, from, resetMail)
}

// requestMail queues the look-up and the mail, so that the answer does not depend on whether there is an account.
func (a *Accounts) requestMail(email string, from netip.Addr, l mailTemplate) error {
	email, err := normalizeEmail(email)
	if err != nil {
		return err
	}
	if !a.cfg.Unlimited {
		if err := a.limits.from(a.limits.mailFrom, from, "mails were asked for from this address or its network"); err != nil {
			return err
		}
	}
	a.queueMail(l, email, func(ctx context.Context) error {
		row, found, err := a.lookup(ctx, "email", email)
		if err != nil || !found || !row.Disabled.IsZero() {
			return err
		}
		return a.send(ctx, row.Account, l, nil)
	})
	return nil
}

// mailToken queues a mail with a one-time link.
func (a *Accounts) mailToken(to Account, l mailTemplate) {
	a.mailBrowserToken(to, l, nil)
}

// mailBrowserToken is mailToken with a link bound to the browser whose secret has the digest.
func (a *Accounts) mailBrowserToken(to Account, l mailTemplate, browser []byte) {
	a.queueMail(l, to.Email, func(ctx context.Context) error { return a.send(ctx, to, l, browser) })
}

// mailNotice queues a mail without a token.
func (a *Accounts) mailNotice(email string, l mailTemplate) {
	a.queueMail(l, email, func(ctx context.Context) error {
		return a.cfg.Mail.Send(ctx, Message{To: email, Subject: l.subject, Text: fmt.Sprintf(l.text, a.cfg.BaseURL)})
	})
}

// send creates the one-time link of a mail and sends it.
func (a *Accounts) send(ctx context.Context, to Account, l mailTemplate, browser []byte) error {
	link, err := a.linkTo(ctx, cmp.Or(l.path, purposePath[l.purpose]), l.purpose, to.ID, browser)
	if err != nil {
		return err
	}
	return a.cfg.Mail.Send(ctx, Message{To: to.Email, Subject: l.subject, Text: fmt.Sprintf(l.text, link)})
}

// queueMail queues a mail, unless the recipient's quota is used up, so that a stranger cannot fill a mailbox.
func (a *Accounts) queueMail(l mailTemplate, email string, send func(context.Context) error) {
	if !l.always && !a.cfg.Unlimited && !a.limits.mail(email) {
		a.log.Info("mail left out: the recipient has had many", "subject", l.subject)
		return
	}
	queued := a.mailQueue.add(func(ctx context.Context) {
		if err := send(ctx); err != nil {
			a.log.Error("mail was not sent", "subject", l.subject, "err", err)
		}
	})
	if !queued {
		a.log.Error("mail was not sent: too many are waiting", "subject", l.subject)
	}
}
