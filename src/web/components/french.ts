import type { Catalogue } from '../language/catalogue.ts'

/** Texts of parts that many pages have, in French. */
export const french = {
  'As the system': 'Comme le système',
  Light: 'Clair',
  Dark: 'Sombre',
  'High contrast': 'Contraste élevé',
  Colours: 'Couleurs',
  Language: 'Langue',
  'Done: {action}': 'Effectué : {action}',
  '{count} files': { one: '{count} fichier', other: '{count} fichiers' },
} satisfies Catalogue
