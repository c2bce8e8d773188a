import type { Catalogue } from '../language/catalogue.ts'

/** Texts of repositories, in German. */
export const german = {} satisfies Catalogue
