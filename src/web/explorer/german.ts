import type { Catalogue } from '../language/catalogue.ts'

/** Texts of the pages about the API, in German. */
export const german = {} satisfies Catalogue
