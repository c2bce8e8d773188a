import type { Catalogue } from '../language/catalogue.ts'

/** Texts of the header, in German. */
export const german = {} satisfies Catalogue
