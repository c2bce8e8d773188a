import { findOwnerById } from '../accounts/users/owners.rows.ts'
import { GHOST } from '../accounts/users/owners.ts'
import { onBehalfOf } from '../core/access.ts'
import type { User } from '../core/schema.ts'
import { findReadablePull } from '../pulls/heads/open-pulls.ts'
import { findPullMessage } from '../pulls/heads/pull-messages.rows.ts'
import { viewPulls } from '../pulls/lists/pull-views.ts'
import type { DeliveriesApp } from './payloads.ts'

/** A message that is to be sent. */
interface WaitingMessage {
  readonly message_id: number
  /** The stored part of the message, as JSON. */
  readonly body: string
}

/**
 * Returns the current body of a message for an account. The body shows a pull request in its
 * current state, as far as the account may read it.
 *
 * @returns JSON; undefined when the account may no longer read the pull request.
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
