import type { Catalogue } from '../language/catalogue.ts'

/** Texts of the header of all pages, in German. */
export const german = {
  Display: 'Darstellung',
  Places: 'Orte',
  Site: 'Website',
  Create: 'Anlegen',
  'Import of a repository': 'Import eines Repositorys',
  Organisation: 'Organisation',
  'Access token': 'Zugangstoken',
  'Account of {user}': 'Konto von {user}',
  'Sign out': 'Abmelden',
} satisfies Catalogue
