import type { Owner } from '../../storage/schema/accounts.ts'
import type { Caller } from '../core/access.ts'
import type { MemoPayloads, MemosApp } from '../memos/ports.ts'
import type { PullView } from '../pulls/listing/pull-views.ts'
import type { ReposApp } from '../repos/ports.ts'

/** What webhook deliveries work with. */
export interface DeliveriesApp extends MemosApp, ReposApp {
  readonly payloads: Payloads
}

/** Resources in the form of the API, as JSON, for webhooks. */
export interface Payloads extends MemoPayloads {
  /** A pull request as REST lists it to a viewer. */
  pullRequest(app: DeliveriesApp, viewer: Caller, view: PullView): string
  /** An account as REST answers it to a viewer. */
  account(app: DeliveriesApp, viewer: Caller, account: Owner): string
}
