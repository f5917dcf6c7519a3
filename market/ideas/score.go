package ideas

import (
	"slices"
	"strings"
)

// lengthScore is best up to eleven letters.
func lengthScore(n int) float64 {
	switch {
	case n < 5:
		return 0.9
	case n <= 11:
		return 1
	}
	return max(0.2, 1-0.07*float64(n-11))
}

// soundScore is less for letters that are hard to say or to spell in a row.
func soundScore(s string) float64 {
	score := 1.0
	run := 0
	for i := range len(s) {
		if strings.IndexByte("aeiouy", s[i]) >= 0 {
			run = 0
			continue
		}
		if run++; run > 3 {
			score *= 0.75
		}
		if i > 1 && s[i] == s[i-1] && s[i] == s[i-2] {
			return 0.1
		}
	}
	return score
}

// vowels reports whether a text has one, so that it can be said.
func vowels(s string) bool { return strings.ContainsAny(s, "aeiouy") }

// refused reports whether a name has something in it that no idea of ours may have: a known mark, or an insult. What is
// inside one of the harmless words that it is made of does not count, unless a TLD cuts it off.
func refused(c *Candidate) bool {
	for _, list := range [][]string{marks, insults} {
		for _, bad := range list {
			if has(c.Label+c.TLD, bad, c.Words) || c.TLD != "" && strings.Contains(c.Label, bad) {
				return true
			}
		}
	}
	return false
}

// has reports whether a text has letters in it which are not all of a harmless one of the words.
func has(text, bad string, of []string) bool {
	for from := 0; ; {
		at := strings.Index(text[from:], bad)
		if at < 0 {
			return false
		}
		at += from
		if !slices.ContainsFunc(of, func(w string) bool {
			start := max(0, at+len(bad)-len(w))
			inside := strings.Index(text[start:], w)
			return harmless[w] && inside >= 0 && start+inside <= at
		}) {
			return true
		}
		from = at + 1
	}
}

// marks are trademarks that are known around the world and are no common words.
var marks = strings.Fields(`
	adidas airbnb alibaba amazon android audi barbie bitcoin boeing budweiser burberry cadillac chanel chevrolet chrysler cisco
	citibank cocacola coca costco disney dropbox ebay emirates expedia facebook fedex ferrari fifa gillette gmail google gucci
	harley heineken hermes honda hotmail hyundai ibm ikea instagram intel iphone ipad jaguar kindle kodak lamborghini lego lexus
	linkedin loreal lufthansa marlboro mastercard mazda mcdonald mercedes michelin microsoft mitsubishi nasdaq nescafe nestle
	netflix nike nikon nintendo nissan nvidia openai oracle oreo panasonic paypal pepsi pfizer philips pinterest pixar playstation
	porsche prada reddit renault rolex samsung siemens skype snapchat sony spotify starbucks subaru suzuki tesla tiktok toshiba
	toyota twitter uber verizon viagra visa volkswagen volvo walmart whatsapp wikipedia windows xbox yahoo youtube zara zoom`)

// insults are letters that read as an insult or an obscenity wherever they stand.
var insults = strings.Fields(`
	anal anus arse asshole bastard bitch bollock boner boob bugger bullshit butthole cock coon cum cunt dick dildo dyke fag fuck
	genocid gook hitler hooker incest jizz kike milf nazi negro nigg nude orgy paki penis piss porn prick pussy queer rape rapist
	rectum retard satan scrotum semen sex shit slave slut spastic sperm spic suicid tard terror tit tranny turd twat vagina vulva
	wank whore`)

// harmless are words in which the letters of a mark or of an insult mean nothing of the kind.
var harmless = set(`accumulate advertisement altitude amusement analog analogue analysis analyst analytic analytics appetite aptitude
	arsenal attitude audience audio audiobook audit auditor auditorium auspicious basement canal choreography circumstance coarse
	cocktail cocoon competition competitive competitor constitution cucumber cumin cumulative custard document documentary
	documentation drape endorsement entitle entity grape grapefruit grapes gratitude identity institute institution intelligence
	intelligent interior latitude longitude multitude mustard parse partition peacock petite petition practitioner psychoanalysis
	quantity racoon raccoon rehearse repetition saturday scrape skyscraper sparse spice spicy stitch stitching sturdy substitute
	subtitle therapist title titan titanium trapeze tycoon unisex`)

// unfit are words that nobody wants in a name, however near they are in meaning.
var unfit = set(`ache addict alien bad beggar bleed blood bomb boring broken brute burglar butcher cage cancer carcass cheat clog corpse crash
	crime criminal crisis croak cruel cry cur curse damage danger dead death debris decay demon devil die dirt dirty disaster disease
	dope drug drunk dull dumb dump dust enemy evil fail failure fake fat fear fight filth flaw fool fraud garbage germ ghost grave greed
	grief guilt guilty gun hate hell hurt ill injury jail junk kill lie loser mad meager mean mess misery mud murder mutt nasty nervous
	offender officer pain penalty perish pest plague poison poor prison punish rag rat refuse riot rot rotten rubbish rude ruin sad savage scam
	sewage shame soapy char consul hospital animal shaver handler janitor reality dialect fiscal horse sick sin slang slaughter slow smell snob sorry stain steal stink stupid sue manpower curved finger mitt swindle theft thief tomb toxic tragedy trash
	trouble ugly upset urchin urine victim villain violent vomit waste weak weapon weep weird worm wound wrong yogic tandem tooth widow
	divorce loan debt tax slice bride groom headhunt dentist patient`)
