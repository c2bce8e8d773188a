import type { Logger } from 'pino'
import { createSessionSlots, gitHttpLimits } from '../../edge/git-http/index.ts'
import { createLfsSlots } from '../../edge/git-lfs/index.ts'
import { startMails } from '../../forge/accounts/credentials/mail-queue.ts'
import { startLeftoverSweeps } from '../../forge/administration/leftovers.ts'
import type { App } from '../../forge/app.ts'
import { startUploadSweeps } from '../../forge/conversations/unlinked-uploads.ts'
import type { Worker } from '../../forge/core/coordination.ts'
import type { Clock } from '../../forge/core/core.ts'
import { VERSION } from '../../forge/core/version.ts'
import { startDeliveries } from '../../forge/deliveries/webhook-attempts.ts'
import { startAdoptions } from '../../forge/imports/author-adoptions.ts'
import { startImports } from '../../forge/imports/import-work.ts'
import { startReferenceWork } from '../../forge/issues/pushed-references.ts'
import { pruneUserEvents } from '../../forge/memos/activity/user-events.ts'
import { startFanOut } from '../../forge/notifications/fan-out.ts'
import { startThreadMails } from '../../forge/notifications/thread-mails.ts'
import { startPullHeads } from '../../forge/pulls/heads/pull-heads.ts'
import { startFollowUps } from '../../forge/pulls/merging/merge-follow-ups.ts'
import { startScheduledMerges } from '../../forge/pulls/merging/scheduled-merge-worker.ts'
import { startMergeQueues } from '../../forge/pulls/queue/queue-worker.ts'
import { startUploadAborts } from '../../forge/repositories/attachments/multipart-uploads.ts'
import { startStorageDeletions } from '../../forge/repositories/attachments/storage-deletions.ts'
import { startLfsSweeps } from '../../forge/repositories/lfs/lfs-sweeps.ts'
import { startMirrors } from '../../forge/repositories/lifecycle/mirrors.ts'
import { startPushMirrors } from '../../forge/repositories/lifecycle/push-mirrors.ts'
import {
  startDroppingReaders,
  startMaintenance,
} from '../../forge/repositories/maintenance/maintenance.ts'
import {
  reconcilePendingUpdates,
  startReconciling,
  startReconcilingOwn,
} from '../../forge/repositories/refs/ref-index.ts'
import { finishMeasuring, startMeasuring } from '../../forge/repositories/refs/repository-size.ts'
import { startCodeIndex } from '../../forge/repositories/search/code-index.ts'
import type { GroupChannel } from '../../platform/database/coordination/group-membership.ts'
import type { SessionEvents } from '../../platform/database/coordination/session.ts'
import { libgit2 } from '../../platform/git/core/libgit2.ts'
import { endScripts } from '../../platform/git/hooks/hook-runner.ts'
import type { ProcessSpawner } from '../../platform/git/processes/process-spawner.ts'
import {
  closeRepositories,
  prepareRepositories,
} from '../../platform/git/repositories/repositories.ts'
import { openMailFolder } from '../../platform/mail/mail.ts'
import { openMailServer } from '../../platform/mail/smtp.ts'
import { MarkupThread } from '../../platform/markup/markup-thread.ts'
import { RequestFigures } from '../../platform/objects/s3/s3-client.ts'
import { boundAddresses } from '../../platform/outbound/destinations.ts'
import { createOutbound } from '../../platform/outbound/outbound.ts'
import type { Config } from '../config.ts'
import { claimScratch, openData, useData } from '../data-folder.ts'
import { openObjectStores } from '../object-storage.ts'
import { closeToOthers, modeText, type OpenPath } from '../private-files.ts'
import { createApp, systemClock } from './app.ts'
import { DataFolderSpace, fileSystemReading, type SpaceReading } from './disk-space.ts'
import { collectWhenIdle, tuneForCalls } from './heap-tuning.ts'
import type { WorkerSurroundings } from './primary-process.ts'
import { StartedParts, serve } from './serving.ts'
import { createSshPort, startSsh } from './ssh.ts'
import { sshAddressOf } from './ssh-address.ts'
import { watchForWakes } from './wake.ts'

/** A running server. */
export interface Server {
  /** Base of its URLs, with the actual port. */
  readonly url: string
  readonly app: App
  /** Address of Git over SSH, as host:port; undefined where SSH is off. */
  readonly sshAddress: string | undefined
  /** Reads the host keys of SSH again. */
  readHostKeys(): void
  /** Reports from now on that it is not ready, and still takes calls. */
  announceStop(): void
  /** Lets clients connect anew, to another process behind the same port. */
  leave(): void
  /**
   * Stops accepting calls, lets calls in flight finish for up to `graceMs`, then closes everything.
   * Later calls wait for the first.
   */
  close(graceMs: number): Promise<void>
}

/** Parts that the process gives to its server. */
interface Surroundings {
  readonly clock?: Clock
  readonly spaceReading?: SpaceReading
  /** Hashes passwords at the default cost unless it is given. */
  readonly passwords?: App['passwords']
  /** Starts Git processes. Without it the server starts them itself. */
  readonly spawner?: ProcessSpawner
  /** Path of the bundled `markup-program.ts`. Without it the server renders no Markdown. */
  readonly markupProgram?: string
  /** Path of the bundled `ssh-program.ts`. Without it the server serves no SSH. */
  readonly sshProgram?: string
  /** Set where the server is one of several worker processes behind one port. */
  readonly workers?: WorkerSurroundings
}

/**
 * Starts a server. A start that fails leaves nothing running.
 *
 * @throws Error with a sentence for the operator when the data folder, the schema or the address
 *   cannot be used.
 */
export async function startServer(
  config: Config,
  log: Logger,
  surroundings: Surroundings = {},
): Promise<Server> {
  const parts = new StartedParts()
  try {
    const started = await startParts(config, log, surroundings, parts)
    tuneForCalls()
    parts.add(collectWhenIdle())
    // Behind the ready line, which a caller prints as soon as this function returns.
    setImmediate(libgit2)
    return { ...started, close: (graceMs) => parts.stop(graceMs) }
  } catch (error) {
    await parts
      .stop(0)
      .catch((err: unknown) => log.error({ err }, 'a part of a failed start could not be stopped'))
    throw error
  }
}

/** Starts the parts of a server, each on top of those before it. */
async function startParts(
  config: Config,
  log: Logger,
  surroundings: Surroundings,
  parts: StartedParts,
): Promise<Omit<Server, 'close'>> {
  const { clock = systemClock, markupProgram, workers: others } = surroundings
  const { spaceReading = fileSystemReading, passwords } = surroundings
  const { settings, webhookAllowedHosts, listen } = config
  const { shared, db, scratch } = await openShared(config, log, parts, others?.group)
  // Set to the address of the listener before the first call, unless the operator set a URL.
  const base = { url: config.publicUrl ?? '' }
  const sshPort = createSshPort(config, () => base.url)
  const markup = markupProgram === undefined ? undefined : new MarkupThread(markupProgram)
  if (markup) parts.add(() => markup.stop())
  const figures = new RequestFigures()
  const objects = await openObjectStores(config, {
    folder: config.data,
    db,
    clock,
    log,
    count: figures.count,
    serverId: () => shared?.session.serverId ?? 0,
  })
  parts.add(() => objects.close())
  const app = await createApp({
    db,
    objects: objects.stores,
    folder: config.data,
    shared: shared && scratch && { ...shared, scratch: scratch.path },
    settings,
    log,
    clock,
    mail: await openMail(config, clock),
    publicUrl: () => base.url,
    ssh: sshPort,
    markup,
    ...(passwords && { passwords }),
    disk: new DataFolderSpace(config.data, config.diskReserveBytes, log, spaceReading),
    outbound: createOutbound({
      allowedHosts: webhookAllowedHosts,
      ownAddresses: () => boundAddresses(listen.host),
    }),
  })
  await prepareGit(app, config, surroundings, parts)
  // Workers start after the listener, which knows the address, and stop after the last call: calls
  // create work until then.
  const workers = new Workers()
  parts.add(() => workers.stop())
  const slots = createSessionSlots(gitHttpLimits(config.settings.maxPushBytes))
  const lfsSlots = createLfsSlots()
  const surrounding = { base, slots, lfsSlots, figures, onSsh: sshPort.take }
  const { metrics, ...serving } = await serve(config, app, surrounding, parts, others)
  const program = surroundings.sshProgram
  const { url } = serving
  const passed = others?.sshConnections
  const ssh = await startSsh(config, app, { slots, lfsSlots, metrics, program, url, passed }, parts)
  sshPort.attach(ssh)
  await workers.start(app)
  if (config.database === undefined) wakeByCommands(config, app, parts)
  app.background.run('forget old events', () => pruneUserEvents(app))
  const sshAddress = ssh && sshAddressOf(config, ssh.port)
  return { ...serving, app, sshAddress, readHostKeys: () => sshPort.readHostKeys() }
}

/** Gives Git its limits, and brings what an earlier run has left in order. */
async function prepareGit(
  app: App,
  config: Config,
  { spawner, workers }: Surroundings,
  parts: StartedParts,
): Promise<void> {
  parts.add(() => closeRepositories(app.git))
  parts.add(async () => {
    await app.background.settled()
    await finishMeasuring(app)
  })
  app.git.processes.spawner = spawner
  app.git.processes.limitMemory(
    config.gitMemoryBytes,
    (facts, message) => app.log.warn(facts, message),
    workers?.gitMemory,
  )
  await prepareRepositories(app.git)
  if (config.settings.gitHooks) await prepareGitHooks(app)
  await reconcilePendingUpdates(app)
}

/** Lets commands of the operator wake the worker of maintenance. */
function wakeByCommands({ data }: Config, { signals, log }: App, parts: StartedParts): void {
  try {
    const watcher = watchForWakes(data, () => signals.maintenance.notify())
    parts.add(() => watcher.close())
  } catch (err) {
    log.warn({ err }, 'the command `maintain` has to wait for up to an hour for this server')
  }
}

/** Opens the folder or the mail server for outgoing mail; undefined for no mail. */
async function openMail({ mailDir, mailSmtp }: Config, clock: Clock): Promise<App['mail']> {
  const now = () => clock.now()
  if (mailSmtp !== undefined) return openMailServer(mailSmtp, now)
  return mailDir === undefined ? undefined : openMailFolder(mailDir, now)
}

/** Opens the data, alone or together with other servers. */
async function openShared(
  config: Config,
  log: Logger,
  parts: StartedParts,
  group: GroupChannel | undefined,
) {
  const events: SessionEvents = {
    onLost: (err) => {
      // What this server has acknowledged is stored.
      log.fatal({ err }, 'a command has taken the database')
      process.exit(1)
    },
    onFailure: (err) => log.warn({ err }, 'the session in PostgreSQL cannot be renewed'),
  }
  const use = await useData(config, 'server', events, group)
  parts.add(() => use.release())
  await closeDataFolder(config.data, log)
  const { shared } = use
  const db = await openData(config, use, (err) =>
    log.warn({ err }, 'a connection to PostgreSQL failed'),
  )
  parts.add(() => db.destroy())
  use.onOpen?.()
  const scratch = shared && (await claimScratch(config.data, endScripts))
  if (scratch) parts.add(() => scratch.release())
  return { shared, db, scratch }
}

/** Takes the access of other users to the data folder away, and says so in one line. */
async function closeDataFolder(folder: string, log: Logger): Promise<void> {
  const { corrected, refused } = await closeToOthers(folder)
  const texts = (paths: readonly OpenPath[]) =>
    paths.map(({ path, mode }) => `${path} (${modeText(mode)})`)
  if (corrected.length > 0)
    log.warn({ paths: texts(corrected) }, 'other users could access the data; this is corrected')
  if (refused.length > 0)
    log.warn({ paths: texts(refused) }, 'other users may access data that another user owns')
}

/** Prepares the sandbox of Git hooks, and logs whether there is one. */
async function prepareGitHooks({ git, log }: App): Promise<void> {
  const { kind, failures } = await git.hooks.prepare()
  if (kind === 'plain') log.warn({ failures }, 'Git hooks run without a sandbox')
  else log.info({ sandbox: kind }, 'Git hooks run in a sandbox')
}

type StartWorker = (app: App) => Worker | Promise<Worker>

/** Each worker runs on one of the servers that share a database. */
const STARTS: readonly (readonly [name: string, start: StartWorker])[] = [
  ['deliveries', (app) => startDeliveries(app, `branchline-webhook/${VERSION}`)],
  ['mails', startMails],
  ['notifications', startFanOut],
  ['notification mails', startThreadMails],
  ['mirrors', startMirrors],
  ['imports', startImports],
  ['author adoptions', startAdoptions],
  ['push mirrors', startPushMirrors],
  ['pull heads', startPullHeads],
  ['scheduled merges', startScheduledMerges],
  ['merge queues', startMergeQueues],
  ['merge follow-ups', startFollowUps],
  ['references', startReferenceWork],
  ['code index', startCodeIndex],
  ['maintenance', startMaintenance],
  ['leftover sweeps', startLeftoverSweeps],
  ['upload sweeps', startUploadSweeps],
  ['measurements', startMeasuring],
  ['storage deletions', startStorageDeletions],
  ['LFS sweeps', startLfsSweeps],
  ['upload aborts', startUploadAborts],
  ['pending updates', startReconciling],
]

/** Each server runs these workers. */
const STARTS_EVERYWHERE: readonly ((app: App) => Worker)[] = [
  startReconcilingOwn,
  startDroppingReaders,
]

/** The background workers of a server. */
class Workers {
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
