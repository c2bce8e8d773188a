import type { Catalogue } from '../../web/language/catalogue.ts'

/** Texts that only the server writes, in German. */
export const german = {
  'There is nothing at this address, or it is for signed-in users.':
    'Unter dieser Adresse ist nichts, oder es ist für angemeldete Benutzer.',
  'Explore repositories': 'Repositorys entdecken',
  'Clone it by {command}': 'Klonen mit {command}',
  'The pages need JavaScript. Everything is also available over Git and the API.':
    'Die Seiten brauchen JavaScript. Alles ist auch über Git und die API erreichbar.',
} satisfies Catalogue
