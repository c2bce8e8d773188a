import { transaction } from '../../../platform/database/database.ts'
import type { Mail } from '../../../platform/mail/mail.ts'
import { queueMail, senderOf } from '../../accounts/credentials/mail-queue.ts'
import type { Owner } from '../../accounts/schema.ts'
import { findOwnerById } from '../../accounts/users/owners.rows.ts'
import { sizeText } from '../../core/sizes.ts'
import type { ReposApp } from '../ports.ts'
import { type QuotaView, viewQuota } from './quota-reports.ts'
import * as rows from './quota-warnings.rows.ts'

/**
 * Mails about quotas. Owners receive one at 80 % and one at 100 % of any limit, and again only after
 * their use was below 75 %.
 */

const LEVELS = [100, 80] as const
const LOW_PERCENT = 75

/** A mail about a limit that was reached long ago is of no use. */
const LIFETIME_MS = 24 * 60 * 60_000

/** An organisation can have any number of owners. */
const MAX_RECIPIENTS = 20

/**
 * Sends an owner a mail when a limit is nearly reached. Called before and after bytes are stored, so
 * that deletions in between count. A failure is logged, since the bytes are stored already.
 */
export async function warnOwner(app: ReposApp, ownerId: number): Promise<void> {
  await warn(app, ownerId).catch((err: unknown) =>
    app.log.error({ err, owner: ownerId }, 'an owner could not be told about a quota'),
  )
}

async function warn(app: ReposApp, ownerId: number): Promise<void> {
  const owner = app.mail && (await findOwnerById(app.db, ownerId))
  const limits = owner ? (await viewQuota(app, owner)).limits : []
  if (!owner || limits.length === 0) return
  const [nearest] = limits
    .map((limit) => ({ ...limit, percent: percentOf(limit) }))
    .sort((a, b) => b.percent - a.percent)
  const warned = await rows.findWarnedPercent(app.db, ownerId)
  if (!nearest) return
  const level = LEVELS.find((percent) => nearest.percent >= percent) ?? 0
  if (level > warned) return send(app, owner, nearest, { warned, level })
  if (warned > 0 && nearest.percent < LOW_PERCENT)
    await transaction(app.db, (tx) => rows.updateWarnedPercent(tx, ownerId, warned, 0))
}

type LimitView = QuotaView['limits'][number]

function percentOf({ used, limit }: LimitView): number {
  if (limit > 0) return (100 * used) / limit
  return used > 0 ? 100 : 0
}

async function send(
  app: ReposApp,
  owner: Owner,
  limit: LimitView,
  { warned, level }: { readonly warned: number; readonly level: number },
): Promise<void> {
  await transaction(app.db, async (tx) => {
    // Another call may have sent the mail.
    if (!(await rows.updateWarnedPercent(tx, owner.id, warned, level))) return
    for (const user of await rows.listWarnedUsers(tx, owner.id, MAX_RECIPIENTS))
      await queueMail(
        app,
        tx,
        user,
        mailOf(app, owner, user.email, { ...limit, level }),
        LIFETIME_MS,
      )
  })
  app.signals.mails.notify()
}

function mailOf(
  app: ReposApp,
  { name, kind }: Owner,
  to: string,
  { used, limit, subjects, level }: LimitView & { readonly level: number },
): Mail {
  const base = app.publicUrl()
  const page = kind === 'ORGANIZATION' ? `-/organizations/${name}/storage` : 'user/settings/storage'
  return {
    from: senderOf(app),
    to,
    subject: `The storage of ${name} is ${level} % full`,
    text: [
      `The repositories of ${name} use ${sizeText(used)} of ${sizeText(limit)} (${subjects.join(', ')}) at`,
      base,
      '',
      level >= 100
        ? 'Nobody can push or upload more to them. Reads and deletions go on.'
        : 'When the rest is used, nobody can push or upload more to them.',
      '',
      'What uses the storage:',
      '',
      `${base}/${page}`,
      '',
    ].join('\n'),
  }
}
