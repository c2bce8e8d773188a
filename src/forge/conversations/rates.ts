import type { Db, Tx } from '../../platform/database/schema.ts'
import type { SignedIn } from '../core/access.ts'
import { nowSeconds } from '../core/core.ts'
import { DomainError } from '../core/errors.ts'
import { suffices } from '../core/levels.ts'
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
  await rows.insertContribution(tx, { user_id: caller.user.id, kind, create_time: now })
}

function mayWrite({ units }: Pick<OpenRepository, 'units'>): boolean {
  return Object.values(units).some((level) => suffices(level, 'write'))
}
