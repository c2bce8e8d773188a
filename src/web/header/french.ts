import type { Catalogue } from '../language/catalogue.ts'

/** Texts of the header of all pages, in French. */
export const french = {
  Display: 'Affichage',
  Places: 'Lieux',
  Site: 'Site',
  Create: 'Créer',
  'Import of a repository': 'Importation d’un dépôt',
  Organisation: 'Organisation',
  'Access token': 'Jeton d’accès',
  'Account of {user}': 'Compte de {user}',
  'Sign out': 'Se déconnecter',
} satisfies Catalogue
