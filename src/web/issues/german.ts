import type { Catalogue } from '../language/catalogue.ts'

/** Texts of issues, in German. */
export const german = {} satisfies Catalogue
