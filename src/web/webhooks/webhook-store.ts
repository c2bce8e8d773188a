import type { Hook, HookDelivery } from '#gen/branchline/v1/hook_pb.ts'
import type { HookDraft } from './webhook-form.tsx'

/** The webhooks of a repository or an organisation. */
export interface HookStore {
  /** The address of the list of webhooks. */
  readonly base: string
  list(
    page: number,
    signal: AbortSignal,
  ): Promise<{ readonly hooks: readonly Hook[]; readonly total: bigint; readonly limit: number }>
  get(id: bigint, signal: AbortSignal): Promise<Hook>
  create(draft: HookDraft): Promise<Hook>
  edit(id: bigint, draft: HookDraft): Promise<Hook>
  remove(id: bigint): Promise<unknown>
  /** Sends a delivery to try a webhook. Undefined where nothing could be sent. */
  readonly test: ((id: bigint) => Promise<unknown>) | undefined
  deliveries(
    id: bigint,
    page: number,
    signal: AbortSignal,
  ): Promise<{
    readonly deliveries: readonly HookDelivery[]
    readonly total: bigint
    readonly limit: number
  }>
  delivery(id: bigint, deliveryId: string, signal: AbortSignal): Promise<HookDelivery>
  redeliver(id: bigint, deliveryId: string): Promise<unknown>
}
