import {
  type AliasableExpression,
  type Expression,
  ExpressionWrapper,
  type OperationNode,
  PostgresAdapter,
  type RawBuilder,
  type RawNode,
  sql,
} from 'kysely'
import type { Db, Tx } from '../schema.ts'

/** Returns whether a handle is of a PostgreSQL database rather than of SQLite. */
export function isPostgres(db: Db | Tx): boolean {
  return db.getExecutor().adapter instanceof PostgresAdapter
}

/** A fragment of SQL as each database understands it. */
export interface Alternatives<T> {
  readonly sqlite: RawBuilder<T>
  readonly postgres: RawBuilder<T>
}

/** The node of a fragment. The compiler of SQLite knows nothing of the second text. */
interface AlternativesNode extends RawNode {
  readonly postgres: OperationNode
}

/** Returns a fragment with a text for each database, where one text cannot serve both. */
export function either<T>({ sqlite, postgres }: Alternatives<T>): AliasableExpression<T> {
  const node: AlternativesNode = {
    ...(sqlite.toOperationNode() as RawNode),
    postgres: postgres.toOperationNode(),
  }
  return new ExpressionWrapper(node)
}

/** Returns the text for PostgreSQL of a fragment that has one. */
export function postgresNode(node: RawNode): OperationNode | undefined {
  return (node as Partial<AlternativesNode>).postgres
}

/** The end of the definition of a table that SQLite stores in the order of its primary key. */
export const WITHOUT_ROWID = either({ sqlite: sql`without rowid`, postgres: sql`` })

/** Returns the smaller one of two numbers. */
export function smaller(one: Expression<number>, other: Expression<number>): Expression<number> {
  return either({ sqlite: sql`min(${one}, ${other})`, postgres: sql`least(${one}, ${other})` })
}

/**
 * Returns a text with its ASCII letters in lower case, as `lower` has it for the texts of columns. A
 * parameter has the rules of the PostgreSQL database, which may change other letters too.
 */
export function lowerCase(text: string): Expression<string> {
  return either({ sqlite: sql`lower(${text})`, postgres: sql`lower(${text} collate "C")` })
}

/** Returns the position of a text within another, from 1, or 0 when the text is not there. */
export function positionOf(part: Expression<string>, text: Expression<string>): Expression<number> {
  return either({ sqlite: sql`instr(${text}, ${part})`, postgres: sql`strpos(${text}, ${part})` })
}
