package ideas

import "strings"

// lengthScore is best from six to ten letters.
func lengthScore(n int) float64 {
	switch {
	case n < 6:
		return 0.9
	case n <= 10:
		return 1
	}
	return max(0.2, 1-0.05*float64(n-10))
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

// refused reports whether a label has something in it that no idea of ours may have: a known mark, or an insult.
func refused(label string) bool {
	for _, mark := range marks {
		if strings.Contains(label, mark) {
			return true
		}
	}
	for _, insult := range insults {
		if strings.Contains(label, insult) {
			return true
		}
	}
	return false
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
