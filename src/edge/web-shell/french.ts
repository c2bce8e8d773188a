import { withHardSpaces } from '../../web/language/french.ts'
import type { german } from './german.ts'

const texts: Readonly<Record<keyof typeof german, string>> = {
  'There is nothing at this address, or it is for signed-in users.':
    'Il n’y a rien à cette adresse, ou l’accès est réservé aux utilisateurs connectés.',
  'Explore repositories': 'Explorer les dépôts',
  'Clone it by {command}': 'Cloner avec {command}',
  'The pages need JavaScript. Everything is also available over Git and the API.':
    'Les pages ont besoin de JavaScript. Tout est aussi accessible par Git et par l’API.',
}

/** Texts that only the server writes, in French. */
export const french = withHardSpaces(texts)
