import type { Catalogue } from '../language/catalogue.ts'

/** Texts of pull requests, in German. */
export const german = {} satisfies Catalogue
