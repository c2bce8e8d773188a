import type { Catalogue } from '../language/catalogue.ts'

/** Texts of parts that many pages have, in German. */
export const german = {
  'As the system': 'Wie das System',
  Light: 'Hell',
  Dark: 'Dunkel',
  'High contrast': 'Hoher Kontrast',
  Colours: 'Farben',
  Language: 'Sprache',
  'Done: {action}': 'Erledigt: {action}',
  '{count} files': { one: '{count} Datei', other: '{count} Dateien' },
} satisfies Catalogue
