import { findOwnerById } from '../../storage/accounts/owners.ts'
import { findPullMessage } from '../../storage/pulls/pull-messages.ts'
import type { User } from '../../storage/schema/accounts.ts'
import { GHOST } from '../accounts/users/owners.ts'
import { onBehalfOf } from '../core/access.ts'
import { findReadablePull } from '../pulls/access/open-pulls.ts'
import { viewPulls } from '../pulls/listing/pull-views.ts'
import type { DeliveriesApp } from './payloads.ts'

/** A message that waits to be sent. */
interface WaitingMessage {
  readonly message_id: number
  /** What is stored of it, as JSON. */
  readonly body: string
}

/**
 * What a message says to an account at this moment: of a pull request what it is like now, as far
 * as the account may see it.
 *
 * @returns JSON; undefined when the account may not know of it any more.
 */
export async function messageBody(
  app: DeliveriesApp,
  { message_id, body }: WaitingMessage,
  receiver: User,
): Promise<string | undefined> {
  const about = await findPullMessage(app.db, message_id)
  if (!about) return body
  const reader = onBehalfOf(receiver)
  const open = await findReadablePull(app, reader, about.pull_request_id)
  const [view] = open ? await viewPulls(app, reader, open, [open.pull]) : []
  if (!view) return undefined
  const actor =
    about.actor_id === null ? undefined : ((await findOwnerById(app.db, about.actor_id)) ?? GHOST)
  return JSON.stringify({
    ...JSON.parse(body),
    sender: actor ? JSON.parse(app.payloads.account(app, reader, actor)) : null,
    pull_request: JSON.parse(app.payloads.pullRequest(app, reader, view)),
  })
}
