import type { Catalogue } from '../language/catalogue.ts'

/** Texts of accounts and sign-in, in French. */
export const french = {} satisfies Catalogue
