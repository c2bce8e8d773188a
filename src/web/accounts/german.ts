import type { Catalogue } from '../language/catalogue.ts'

/** Texts of accounts and sign-in, in German. */
export const german = {} satisfies Catalogue
