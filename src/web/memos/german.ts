import type { Catalogue } from '../language/catalogue.ts'

/** Texts of memos, in German. */
export const german = {} satisfies Catalogue
