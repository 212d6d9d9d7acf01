// SPDX-License-Identifier: Apache-2.0

package consent

// words are what a language needs. The first of yes and of no also stand for a
// value that is true or false.
type words struct {
	question, questionWith string
	and                    string
	yes, no, filler        []string
}

var table = map[string]words{
	"en": {
		question:     "Shall I run {tool}? Please say yes or no.",
		questionWith: "Shall I run {tool} with {arguments}? Please say yes or no.",
		and:          "and",
		yes: []string{"yes", "yeah", "yep", "yup", "sure", "of course", "ok", "okay", "alright", "all right", "fine", "go ahead", "go on",
			"do it", "do that", "do so", "run it", "please do", "confirm", "confirmed", "i confirm", "affirmative", "absolutely", "certainly",
			"definitely", "correct", "right", "proceed", "you may", "you can", "i agree", "agreed", "i do"},
		no: []string{"no", "nope", "nah", "not", "don't", "dont", "do not", "never", "nothing", "stop", "cancel", "abort", "wait", "hold on",
			"forget it", "leave it", "negative", "refuse", "later"},
		filler: []string{"please", "thanks", "thank you", "it", "that", "now", "then", "just", "and", "i", "oh", "um", "uh", "well", "hey", "very much"},
	},
	"it": {
		question:     "Devo eseguire {tool}? Rispondi sì o no.",
		questionWith: "Devo eseguire {tool} con {arguments}? Rispondi sì o no.",
		and:          "e",
		yes: []string{"sì", "certo", "certamente", "ok", "okay", "va bene", "d'accordo", "fallo", "falla", "fai pure", "procedi", "confermo", "confermato",
			"esatto", "esattamente", "vai", "vai pure", "avanti", "sicuro", "sicuramente", "volentieri", "assolutamente", "giusto", "perfetto", "come no", "eseguilo", "eseguila"},
		no: []string{"no", "non", "annulla", "ferma", "fermati", "fermo", "stop", "aspetta", "lascia", "lascia perdere", "niente", "nulla", "mai",
			"nemmeno", "neanche", "rifiuto", "dopo", "negativo"},
		filler: []string{"grazie", "per favore", "per piacere", "prego", "pure", "lo", "la", "ora", "adesso", "allora", "e", "subito", "beh", "eh", "dai", "mille"},
	},
	"de": {
		question:     "Soll ich {tool} ausführen? Bitte sag ja oder nein.",
		questionWith: "Soll ich {tool} mit {arguments} ausführen? Bitte sag ja oder nein.",
		and:          "und",
		yes: []string{"ja", "jawohl", "jep", "jo", "klar", "sicher", "natürlich", "gern", "gerne", "ok", "okay", "in ordnung", "mach das", "mach es",
			"mach", "mach mal", "mach schon", "tu es", "tu das", "bestätigt", "ich bestätige", "einverstanden", "genau", "richtig", "los", "selbstverständlich", "unbedingt",
			"von mir aus", "passt", "alles klar", "führ es aus", "führe es aus"},
		no: []string{"nein", "nee", "ne", "nö", "nicht", "kein", "keine", "keinen", "keinesfalls", "stopp", "stop", "halt", "abbrechen", "abbruch", "niemals", "nie",
			"lass", "lass es", "warte", "nichts", "später", "auf keinen fall"},
		filler: []string{"bitte", "danke", "doch", "das", "es", "mal", "jetzt", "dann", "und", "na", "schön", "vielen", "sehr", "also", "äh", "ähm"},
	},
	"fr": {
		question:     "Dois-je exécuter {tool} ? Réponds oui ou non.",
		questionWith: "Dois-je exécuter {tool} avec {arguments} ? Réponds oui ou non.",
		and:          "et",
		yes: []string{"oui", "ouais", "si", "d'accord", "ok", "okay", "vas-y", "allez-y", "bien sûr", "certainement", "c'est bon", "ça marche", "fais-le", "faites-le",
			"fais-la", "je confirme", "confirme", "confirmé", "exactement", "exact", "absolument", "volontiers", "parfait", "entendu", "tout à fait", "je veux bien", "évidemment", "exécute-le"},
		no: []string{"non", "ne", "n", "pas", "annule", "annulez", "annuler", "arrête", "arrêtez", "stop", "jamais", "attends", "attendez", "laisse", "laisse tomber", "rien",
			"aucun", "aucune", "plus tard", "négatif"},
		filler: []string{"s'il te plaît", "s'il vous plaît", "merci", "le", "la", "maintenant", "alors", "et", "euh", "donc", "beaucoup", "allez", "bien"},
	},
	"es": {
		question:     "¿Ejecuto {tool}? Responde sí o no.",
		questionWith: "¿Ejecuto {tool} con {arguments}? Responde sí o no.",
		and:          "y",
		yes: []string{"sí", "claro", "claro que sí", "vale", "ok", "okay", "de acuerdo", "adelante", "hazlo", "hazla", "por supuesto", "desde luego", "confirmo", "confirmado",
			"correcto", "exacto", "seguro", "venga", "dale", "bueno", "está bien", "procede", "perfecto", "cómo no", "ejecútalo", "ejecútala"},
		no:     []string{"no", "nunca", "jamás", "cancela", "cancelar", "para", "detente", "espera", "alto", "ni", "tampoco", "nada", "déjalo", "stop", "luego", "después", "negativo"},
		filler: []string{"por favor", "gracias", "lo", "la", "ya", "ahora", "pues", "que", "y", "eh", "muchas", "entonces"},
	},
	"pt": {
		question:     "Devo executar {tool}? Responde sim ou não.",
		questionWith: "Devo executar {tool} com {arguments}? Responde sim ou não.",
		and:          "e",
		yes: []string{"sim", "claro", "claro que sim", "ok", "okay", "está bem", "está bom", "tá bem", "tá bom", "tá", "pode", "podes", "pode ser", "faz", "faça", "faz isso", "faça isso",
			"de acordo", "confirmo", "confirmado", "com certeza", "certo", "exato", "exatamente", "força", "avança", "isso", "vai", "vá", "beleza", "concordo", "positivo", "perfeito", "executa", "execute"},
		no:     []string{"não", "nunca", "jamais", "cancela", "cancele", "cancelar", "para", "pare", "espera", "espere", "deixa", "deixe", "nem", "nada", "negativo", "stop", "depois"},
		filler: []string{"por favor", "obrigado", "obrigada", "o", "a", "agora", "então", "e", "lá", "muito", "já", "é"},
	},
}
