import { type AliasableExpression, type ExpressionBuilder, type SqlBool, sql } from 'kysely'
import { containsSql, LAST_CHARACTER } from '../../../platform/database/database.ts'
import { numbersOf, prepareQuery } from '../../../platform/database/prepared.ts'
import type { Db, Schema } from '../../../platform/database/schema.ts'
import type { User, Visibility } from '../../core/schema.ts'

/** Search criteria for active users. */
export interface UserSearch {
  /** Part of the username or display name, with ASCII letters in any case; empty for all. */
  readonly text: string
  /** Id of the only user to find; undefined for all. */
  readonly id: number | undefined
  /** Visibilities of users to find. The searching user is always found. */
  readonly visible: readonly Visibility[]
  readonly searcherId: number
  /** Whether the text may also be part of the e-mail address. */
  readonly inEmails: boolean
}

/** Returns the found users by name. */
export async function searchUsers(
  db: Db,
  search: UserSearch,
  offset: number,
  limit: number,
): Promise<User[]> {
  return selectFound(db, search, await findNamed(db, search))
    .selectAll()
    .orderBy((eb) => eb.fn('lower', ['username']))
    .limit(limit)
    .offset(offset)
    .execute()
}

export async function countFoundUsers(db: Db, search: UserSearch): Promise<number> {
  if (search.text === '' && search.id === undefined) return countVisible(db, search)
  const { count } = await selectFound(db, search, await findNamed(db, search))
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}

/** Returns the number of all active users that a user may see. Those that are hidden are counted. */
async function countVisible(db: Db, { visible, searcherId }: UserSearch): Promise<number> {
  const { count } = await db
    .selectFrom('users')
    .where('state', '=', 'NORMAL')
    .where('id', 'in', (eb) => selectHiddenUsers(eb, { visible, viewerId: searcherId }))
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return (await countOfState(db, 'NORMAL')) - count
}

/** Returns the number of accounts in a state, or of all, which triggers maintain. */
async function countOfState(db: Db, state: User['state'] | undefined): Promise<number> {
  const counts = await db.selectFrom('user_counts').select(['state', 'count']).execute()
  return counts
    .filter((row) => state === undefined || row.state === state)
    .reduce((total, { count }) => total + count, 0)
}

/** The maximum number of names with a text that are found by their ends. */
const MAX_NAMED = 1_000

/** The length of the ends of names. */
const END_CHARACTERS = 24

/**
 * Returns the ids of the users whose names contain the text of a search, and of some others with a
 * part of the text. Undefined if they are too many for the index to be of use.
 */
async function findNamed(db: Db, { text, inEmails }: UserSearch): Promise<number[] | undefined> {
  if (text === '' || inEmails) return undefined
  const begin = asciiLowerCase([...text].slice(0, END_CHARACTERS).join(''))
  const rows = await namesWith(db, begin, begin + LAST_CHARACTER)
  return rows.length > MAX_NAMED ? undefined : [...new Set(rows.map(({ user_id }) => user_id))]
}

// A name contains a text if an end of the name begins with the text.
const namesWith = prepareQuery((db, from: string, to: string) =>
  db
    .selectFrom('user_name_ends')
    .select('user_id')
    .where('name_end', '>=', from)
    .where('name_end', '<', to)
    .limit(MAX_NAMED + 1),
)

/** The databases change the letters of ASCII only. */
function asciiLowerCase(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase())
}

/** Criteria of administrators for accounts, active or not. */
export interface AccountSearch {
  /** Id of the identity provider that accounts are linked with; undefined for all accounts. */
  readonly providerId: number | undefined
  /** Identifier of the person that accounts are linked with; undefined for all accounts. */
  readonly externalId: string | undefined
  readonly visible: readonly Visibility[]
  /** Part of the username, display name or e-mail address; empty for all accounts. */
  readonly text: string
  /** Undefined for all accounts, as are the next three. */
  readonly state: User['state'] | undefined
  readonly role: User['role'] | undefined
  readonly restricted: boolean | undefined
  readonly hasSecondFactor: boolean | undefined
  readonly sort: AccountOrder
  readonly direction: 'asc' | 'desc'
}

/** What a list of accounts is ordered by. */
type AccountOrder = 'name' | 'created' | 'updated' | 'id'

/** Returns the accounts in their order. */
export function listAccounts(
  db: Db,
  search: AccountSearch,
  offset: number,
  limit: number,
): Promise<User[]> {
  const { sort, direction } = search
  return selectAccounts(db, search)
    .selectAll()
    .$if(sort === 'name', (query) => query.orderBy((eb) => eb.fn('lower', ['username']), direction))
    .$if(sort === 'created', (query) => query.orderBy('create_time', direction))
    .$if(sort === 'updated', (query) => query.orderBy('update_time', direction))
    .orderBy('id', direction)
    .limit(limit)
    .offset(offset)
    .execute()
}

export async function countAccounts(db: Db, search: AccountSearch): Promise<number> {
  if (isByStateOnly(search)) return countOfState(db, search.state)
  const { count } = await selectAccounts(db, search)
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}

function isByStateOnly(search: AccountSearch): boolean {
  const { sort: _, direction: __, state: ___, visible, text, ...others } = search
  const isUnfiltered = Object.values(others).every((value) => value === undefined)
  return isUnfiltered && text === '' && visible.length === VISIBILITIES
}

/** Number of visibilities: public, limited and private. */
const VISIBILITIES = 3

function selectAccounts(db: Db, search: AccountSearch) {
  const { providerId, externalId, visible, text, state, role, restricted } = search
  return db
    .selectFrom('users')
    .where('visibility', 'in', visible)
    .$if(state !== undefined, (query) => query.where('state', '=', state ?? 'NORMAL'))
    .$if(role !== undefined, (query) => query.where('role', '=', role ?? 'USER'))
    .$if(restricted !== undefined, (query) => query.where('restricted', '=', restricted ? 1 : 0))
    .$if(text !== '', (query) =>
      query.where((eb) =>
        eb.or([
          containsSql(eb.ref('username'), text),
          containsSql(eb.ref('display_name'), text),
          containsSql(eb.ref('email'), text),
        ]),
      ),
    )
    .$if(search.hasSecondFactor !== undefined, (query) =>
      query.where('id', search.hasSecondFactor ? 'in' : 'not in', (eb) =>
        eb
          .selectFrom('two_factors')
          .select('two_factors.user_id')
          .where('confirm_time', 'is not', null),
      ),
    )
    .$if(providerId !== undefined || externalId !== undefined, (query) =>
      query.where('id', 'in', (eb) =>
        eb
          .selectFrom('linked_identities')
          .select('linked_identities.user_id')
          .$if(providerId !== undefined, (linked) =>
            linked.where('provider_id', '=', providerId ?? 0),
          )
          .$if(externalId !== undefined, (linked) =>
            linked.where('extern_uid', '=', externalId ?? ''),
          ),
      ),
    )
}

/** @param named the only users that the text leads to; undefined for all. */
function selectFound(
  db: Db,
  { text, id, visible, searcherId, inEmails }: UserSearch,
  named: readonly number[] | undefined,
) {
  return db
    .selectFrom('users')
    .where('state', '=', 'NORMAL')
    .$if(id !== undefined, (query) => query.where('id', '=', id ?? 0))
    .$if(named !== undefined, (query) =>
      query.where('id', 'in', numbersOf(JSON.stringify(named ?? []))),
    )
    .where((eb) => eb.or([eb('visibility', 'in', visible), eb('id', '=', searcherId)]))
    .$if(text !== '', (query) =>
      query.where((eb) =>
        eb.or([
          containsSql(eb.ref('username'), text),
          containsSql(eb.ref('display_name'), text),
          ...(inEmails ? [containsSql(eb.ref('email'), text)] : []),
        ]),
      ),
    )
}

/** Conditions for the users that a caller may see in a list. */
export interface UserViewer {
  readonly visible: readonly Visibility[]
  /** The user who looks, and always sees themselves; undefined for an anonymous caller. */
  readonly viewerId: number | undefined
}

/**
 * Selects the ids of the users that a viewer may not see. They are few and have an index, so a list
 * counts them instead of all others.
 */
export function selectHiddenUsers(
  eb: Pick<ExpressionBuilder<Schema, 'users'>, 'selectFrom'>,
  { visible, viewerId }: UserViewer,
) {
  return eb
    .selectFrom('users')
    .select('users.id')
    .where('users.visibility', '<>', sql.lit('public' as const))
    .where('users.visibility', 'not in', visible)
    .where(sql<SqlBool>`users.id <> ${viewerId ?? 0}`)
}

/** Returns the users of a page of a list, in the order of their times in the list, then by id. */
export function usersOfPage(
  db: Db,
  page: AliasableExpression<{ readonly user_id: number; readonly time: number }>,
): Promise<User[]> {
  return db
    .selectFrom(page.as('page'))
    .innerJoin('users', 'users.id', 'page.user_id')
    .selectAll('users')
    .orderBy('page.time')
    .orderBy('page.user_id')
    .execute()
}
