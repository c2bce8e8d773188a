import { startMails } from '../../forge/accounts/credentials/mail-queue.ts'
import { startLeftoverSweeps } from '../../forge/administration/leftovers.ts'
import type { App } from '../../forge/app.ts'
import type { Worker } from '../../forge/core/coordination.ts'
import { VERSION } from '../../forge/core/version.ts'
import { startDeliveries } from '../../forge/deliveries/webhook-worker.ts'
import { startFanOut } from '../../forge/notifications/fan-out.ts'
import { startThreadMails } from '../../forge/notifications/thread-mails.ts'
import { startPullHeads } from '../../forge/pulls/heads/pull-heads.ts'
import { startFollowUps } from '../../forge/pulls/merging/merge-follow-ups.ts'
import { startScheduledMerges } from '../../forge/pulls/merging/scheduled-merges.ts'
import { startMirrors } from '../../forge/repositories/lifecycle/mirrors.ts'
import { startPushMirrors } from '../../forge/repositories/lifecycle/push-mirrors.ts'
import { startReconciling, startReconcilingOwn } from '../../forge/repositories/refs/reconciling.ts'

type StartWorker = (app: App) => Worker | Promise<Worker>

/** Each worker runs on one of the servers that share a database. */
const STARTS: readonly (readonly [name: string, start: StartWorker])[] = [
  ['deliveries', (app) => startDeliveries(app, `branchline-webhook/${VERSION}`)],
  ['mails', startMails],
  ['notifications', startFanOut],
  ['notification mails', startThreadMails],
  ['mirrors', startMirrors],
  ['push mirrors', startPushMirrors],
  ['pull heads', startPullHeads],
  ['scheduled merges', startScheduledMerges],
  ['merge follow-ups', startFollowUps],
  ['leftover sweeps', startLeftoverSweeps],
  ['pending updates', startReconciling],
]

/** Each server runs these workers. */
const STARTS_EVERYWHERE: readonly ((app: App) => Worker)[] = [startReconcilingOwn]

/** The background workers of a server. */
export class Workers {
  readonly #running: Worker[] = []

  /** Starts the workers in the order of their list. */
  async start(app: App): Promise<void> {
    for (const [name, start] of STARTS)
      this.#running.push(await app.coordination.onOneServer(name, () => start(app)))
    for (const start of STARTS_EVERYWHERE) this.#running.push(start(app))
  }

  /**
   * Stops the workers that have started, the last one first, and waits for all of them.
   *
   * @throws the first failure.
   */
  async stop(): Promise<void> {
    const stops = this.#running.reverse().map(async (worker) => worker.stop())
    for (const stop of await Promise.allSettled(stops))
      if (stop.status === 'rejected') throw stop.reason
  }
}
