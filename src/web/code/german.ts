import type { Catalogue } from '../language/catalogue.ts'

/** Texts of files, commits and changes, in German. */
export const german = {} satisfies Catalogue
