import type { Db, Tx } from '../../platform/database/schema.ts'
import { findActiveUsersByUsernameKeys, findUserById } from '../accounts/users/users.rows.ts'
import type { SignedIn } from '../core/access.ts'
import { nowSeconds } from '../core/core.ts'
import { DomainError } from '../core/errors.ts'
import { suffices } from '../core/levels.ts'
import { nameKey } from '../core/names.ts'
import type { OpenRepository } from '../repositories/access/permissions.ts'
import type { ReposApp } from '../repositories/ports.ts'
import * as rows from './rates.rows.ts'
import type { Contribution } from './schema.ts'

const PERIOD_S = 10 * 60

/** How long an account counts as new. */
const HOUR_S = 60 * 60

/** A new account may open a part of the issues only, in the whole hour. */
const SHARE_OF_NEW_ACCOUNTS = 1 / 3

/** Comments, reviews and reactions for each issue of the limit. */
const TEXTS_PER_ISSUE = 6

/** What a caller may do in a repository, and when. */
interface Spender {
  readonly caller: SignedIn
  readonly open: Pick<OpenRepository, 'units'>
}

/**
 * Checks whether the caller may contribute now, before any work. `countContribution` checks again.
 * Whoever may write to the repository is not limited.
 *
 * @throws ISSUE_RATE_LIMITED
 */
export async function checkRate(
  app: ReposApp,
  db: Db,
  { caller, open }: Spender,
  kind: Contribution['kind'],
): Promise<void> {
  const { issueRate } = app.settings
  if (issueRate === 0 || mayWrite(open)) return
  const { id, create_time } = caller.user
  const now = nowSeconds(app.clock)
  const isNew = kind === 'ISSUE' && now - create_time < HOUR_S
  const periodS = isNew ? HOUR_S : PERIOD_S
  const share = isNew ? SHARE_OF_NEW_ACCOUNTS : 1
  const limit = Math.ceil(issueRate * (kind === 'ISSUE' ? share : TEXTS_PER_ISSUE))
  const recent = await rows.recentContributions(db, { user_id: id, kind }, now - periodS)
  if (recent.count < limit) return
  const seconds = Math.max(1, (recent.oldestTime ?? now) + periodS - now)
  throw new DomainError('ISSUE_RATE_LIMITED', { retry_after_seconds: String(seconds) })
}

/**
 * Counts a contribution, in its transaction.
 *
 * @throws ISSUE_RATE_LIMITED
 */
export async function countContribution(
  app: ReposApp,
  tx: Tx,
  { caller, open }: Spender,
  kind: Contribution['kind'],
): Promise<void> {
  if (app.settings.issueRate === 0 || mayWrite(open)) return
  await checkRate(app, tx, { caller, open }, kind)
  const now = nowSeconds(app.clock)
  await rows.deleteOldContributions(tx, caller.user.id, now - HOUR_S)
  await rows.insertContributions(tx, [{ user_id: caller.user.id, kind, create_time: now }])
}

/** The users whom mentions by one account may tell in ten minutes. */
const MAX_TOLD = 200

/**
 * Returns those of newly mentioned names whose users are told, and counts them. The limit protects
 * those who are mentioned, so it holds whatever rates are set, and in the account's own repositories
 * too. Administrators of the server have none.
 *
 * @param names folded.
 */
export async function mentionsToTell(
  tx: Tx,
  { actorId, timeMs }: { readonly actorId: number | null; readonly timeMs: number },
  names: readonly string[],
): Promise<readonly string[]> {
  if (names.length === 0 || actorId === null) return names
  const actor = await findUserById(tx, actorId)
  if (!actor || actor.role === 'ADMIN') return names
  const now = Math.floor(timeMs / 1000)
  const named = new Set(
    (await findActiveUsersByUsernameKeys(tx, names)).map(({ username }) => nameKey(username)),
  )
  // Nobody is told of their own words.
  const own = nameKey(actor.username)
  const recent = await rows.recentContributions(
    tx,
    { user_id: actorId, kind: 'MENTION' },
    now - PERIOD_S,
  )
  const others = names.filter((name) => name !== own && named.has(name))
  const told = others.slice(0, Math.max(0, MAX_TOLD - recent.count))
  await rows.deleteOldContributions(tx, actorId, now - HOUR_S)
  await rows.insertContributions(
    tx,
    told.map(() => ({ user_id: actorId, kind: 'MENTION', create_time: now })),
  )
  return names.includes(own) ? [...told, own] : told
}

function mayWrite({ units }: Pick<OpenRepository, 'units'>): boolean {
  return Object.values(units).some((level) => suffices(level, 'write'))
}
