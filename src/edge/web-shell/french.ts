import { withHardSpaces } from '../../web/language/french.ts'
import type { german } from './german.ts'

const texts: Readonly<Record<keyof typeof german, string>> = {
  'Git repositories and pull requests': 'Dépôts Git et pull requests',
  'A self-hosted home for Git repositories and pull requests.':
    'Un lieu pour les dépôts Git et les pull requests, sur votre propre serveur.',
  'There is nothing at this address, or it is for signed-in users.':
    'Il n’y a rien à cette adresse, ou l’accès est réservé aux utilisateurs connectés.',
  'Clone it by {command}': 'Cloner avec {command}',
  'The pages need JavaScript. Everything is also available over Git and the API.':
    'Les pages ont besoin de JavaScript. Tout est aussi accessible par Git et par l’API.',
}

/** Texts that only the server writes, in French. */
export const french = withHardSpaces(texts)
