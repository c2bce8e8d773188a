import type { SharedMetric } from '../../edge/operator-pages/metrics.ts'
import type {
  MessageOfHost,
  MessageOfMember,
} from '../../platform/database/coordination/group-messages.ts'

/** The metrics of a process. */
export type Metrics = readonly SharedMetric[]

/**
 * The number of these messages. A change that an earlier primary process does not understand has
 * another number: after an upgrade on the disk, worker processes restart under that process.
 */
export const WORKER_PROTOCOL = 1

/** What a worker process needs to use an SQLite database together with others. */
interface StartOfMember {
  /** The number of the group of the worker processes of one primary process. */
  readonly groupId: number
  /** The number of the server in the worker process. */
  readonly serverId: number
}

/** A message from the primary process to a worker process. */
export type MessageToWorker =
  /** The first message. */
  | {
      readonly kind: 'start'
      /** `WORKER_PROTOCOL` of the primary process. */
      readonly protocol: number
      /** Number of the worker process, from 1. */
      readonly worker: number
      /** Number of worker processes. */
      readonly workers: number
      /** The port whose connections the worker process gets. */
      readonly port: number
      /** The port of SSH. Undefined where SSH has none of its own. */
      readonly sshPort: number | undefined
      /** Set where the worker processes use one SQLite database. */
      readonly group: StartOfMember | undefined
    }
  /** A connection, whose socket comes with the message. */
  | { readonly kind: 'connection' | 'SSH connection' }
  /** The worker process reads the host keys of SSH again. */
  | { readonly kind: 'read host keys' }
  /** The worker process still takes calls, and reports that it is not ready. */
  | { readonly kind: 'announce stop' }
  /** The worker process gets no further connection, and ends when its calls have ended. */
  | { readonly kind: 'drain' }
  /** The same, with much time: another process serves in its place. */
  | { readonly kind: 'retire' }
  /** Asks for the metrics of the worker process. */
  | { readonly kind: 'read metrics' }
  /** The sum of the metrics of all worker processes. */
  | { readonly kind: 'metrics'; readonly id: number; readonly metrics: Metrics }
  /** The memory of the Git processes of the other worker processes. */
  | { readonly kind: 'git memory of others'; readonly bytes: number }
  /** About the use of one SQLite database. */
  | { readonly kind: 'group'; readonly message: MessageOfHost }

/** A message from a worker process to the primary process. */
export type MessageToPrimary =
  /** The worker process serves. */
  | { readonly kind: 'ready' }
  /** The worker process cannot start, and ends. */
  | { readonly kind: 'failed'; readonly message: string }
  /** A connection has ended. */
  | { readonly kind: 'connection closed' }
  /** The worker process was told to end by a signal, and waits for `drain`. */
  | { readonly kind: 'leaving' }
  /** Asks for the metrics of all worker processes. */
  | { readonly kind: 'sum metrics'; readonly id: number }
  /** The answer to `read metrics`. */
  | { readonly kind: 'own metrics'; readonly metrics: Metrics }
  /** The memory of the Git processes of this worker process. */
  | { readonly kind: 'git memory'; readonly bytes: number }
  /** About the use of one SQLite database. */
  | { readonly kind: 'group'; readonly message: MessageOfMember }
