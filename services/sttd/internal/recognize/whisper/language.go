// SPDX-License-Identifier: Apache-2.0

package whisper

import "strings"

// languages are those of Whisper large-v3, "code name" each. The server takes
// both and answers with names; other servers answer with codes.
const languages = `en english,zh chinese,de german,es spanish,ru russian,ko korean,fr french,ja japanese,
pt portuguese,tr turkish,pl polish,ca catalan,nl dutch,ar arabic,sv swedish,it italian,id indonesian,hi hindi,
fi finnish,vi vietnamese,he hebrew,uk ukrainian,el greek,ms malay,cs czech,ro romanian,da danish,hu hungarian,
ta tamil,no norwegian,th thai,ur urdu,hr croatian,bg bulgarian,lt lithuanian,la latin,mi maori,ml malayalam,
cy welsh,sk slovak,te telugu,fa persian,lv latvian,bn bengali,sr serbian,az azerbaijani,sl slovenian,kn kannada,
et estonian,mk macedonian,br breton,eu basque,is icelandic,hy armenian,ne nepali,mn mongolian,bs bosnian,
kk kazakh,sq albanian,sw swahili,gl galician,mr marathi,pa punjabi,si sinhala,km khmer,sn shona,yo yoruba,
so somali,af afrikaans,oc occitan,ka georgian,be belarusian,tg tajik,sd sindhi,gu gujarati,am amharic,yi yiddish,
lo lao,uz uzbek,fo faroese,ht haitian creole,ps pashto,tk turkmen,nn nynorsk,mt maltese,sa sanskrit,
lb luxembourgish,my myanmar,bo tibetan,tl tagalog,mg malagasy,as assamese,tt tatar,haw hawaiian,ln lingala,
ha hausa,ba bashkir,jw javanese,su sundanese,yue cantonese`

// codeOf gives the code of a language by its code, its English name or a tag
// such as "en-us"; "" when Whisper does not know it.
func codeOf(language string) string {
	want := strings.ToLower(strings.TrimSpace(language))
	if want == "" {
		return ""
	}
	tag, _, _ := strings.Cut(strings.ReplaceAll(want, "_", "-"), "-")
	for entry := range strings.SplitSeq(languages, ",") {
		code, name, _ := strings.Cut(strings.TrimSpace(entry), " ")
		if want == name || tag == code {
			return code
		}
	}
	return ""
}
