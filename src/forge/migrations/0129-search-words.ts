import { createTextWords, dropTextWords } from '../../platform/database/dialects/text-index.ts'
import type { Tx } from '../../platform/database/schema.ts'

/** The list of the words that a search names in place of their beginning. */
export async function up(db: Tx): Promise<void> {
  await createTextWords(db)
}

/** Loses the list. */
export async function down(db: Tx): Promise<void> {
  await dropTextWords(db)
}
