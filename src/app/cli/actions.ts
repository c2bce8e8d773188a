import { createReadStream } from 'node:fs'
import { open, rename, rm, stat } from 'node:fs/promises'
import type { Writable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Logger } from 'pino'
import { refusal } from '../../edge/errors.ts'
import { createUserAsOperator } from '../../forge/accounts/users/create-user.ts'
import type { Progress } from '../../forge/administration/archive.ts'
import { writeBackup } from '../../forge/administration/backup.ts'
import {
  examine,
  type Finding,
  notExamined,
  rebuildSearch,
} from '../../forge/administration/doctor.ts'
import { bringObjectsBack, readLimbo } from '../../forge/administration/limbo.ts'
import {
  namedSteps,
  requestAsOperator,
  resultOfRequest,
} from '../../forge/administration/maintain.ts'
import { restoreBackup } from '../../forge/administration/restore.ts'
import { checkStorage } from '../../forge/administration/storage-check.ts'
import { type ContentKind, moveContents } from '../../forge/administration/storage-move.ts'
import type { Settings } from '../../forge/core/core.ts'
import { DomainError } from '../../forge/core/errors.ts'
import { VERSION } from '../../forge/core/version.ts'
import type { ContentStore } from '../../forge/repositories/attachments/schema.ts'
import { finishMaintenance } from '../../forge/repositories/maintenance/maintenance.ts'
import { DatabaseBusyError } from '../../platform/database/coordination/session.ts'
import { DataFolderBusyError } from '../../platform/database/data-lock.ts'
import type { Db } from '../../platform/database/schema.ts'
import { ProcessSpawner } from '../../platform/git/processes/process-spawner.ts'
import {
  activateHostKeys,
  listHostKeys,
  publicPartOf,
  rotateHostKeys,
} from '../../platform/ssh/host-keys.ts'
import { type LogLevel, readConfig, type ServeFlags, unlessWord } from '../config.ts'
import {
  type DataPlace,
  hostKeysFolderOf,
  migrateData,
  openData,
  openDataAsItIs,
  repositoriesOf,
  useData,
} from '../data-folder.ts'
import { createLog, createSharedLog } from '../log.ts'
import { type ObjectStorage, openObjectStores, openRestoredContents } from '../object-storage.ts'
import { closeToOthers, modeText, type OpenPath, openToOthers } from '../private-files.ts'
import { openRestoreTarget } from '../restore-target.ts'
import { createApp, systemClock } from '../server/app.ts'
import { PrimaryProcess } from '../server/primary-process.ts'
import { type Server, startServer } from '../server/server.ts'
import { wakeServer } from '../server/wake.ts'
import { print } from './print.ts'

/** Means standard input or output. */
const STANDARD_STREAM = '-'

export interface BackupFlags extends DataPlace, ObjectStorage {
  readonly output: string
  /** Whether the archive has a list of the attachments only. */
  readonly withoutObjects: boolean
}

/** Opens the stores of a command. Closes the database when that fails. */
async function openStores(storage: ObjectStorage & DataPlace, db: Db, log: Logger) {
  const parts = { folder: storage.data, db, log, clock: systemClock, serverId: () => null }
  try {
    return await openObjectStores(storage, parts)
  } catch (error) {
    await db.destroy()
    throw error
  }
}

/** Writes an instance into an archive. */
export async function backup({ output, withoutObjects, ...place }: BackupFlags): Promise<void> {
  const db = await openDataAsItIs(place)
  const objects = await openStores(place, db, createLog('warn'))
  const { data } = place
  const isPiped = output === STANDARD_STREAM
  // An existing archive is replaced only when the new one is complete.
  const draft = `${output}.${process.pid}.part`
  const { progress, stop } = reportProgress()
  try {
    const target = isPiped ? process.stdout : await openDraft(draft)
    const source = {
      db,
      git: repositoriesOf(data),
      objects: objects.stores,
      clock: systemClock,
    }
    const hostKeysFolder = hostKeysFolderOf(data)
    const options = { version: VERSION, progress, hostKeysFolder, withoutObjects }
    await writeBackup(source, target, options)
    if (isPiped) return
    await rename(draft, output)
    print(`wrote ${output}: ${describeProgress(progress)}`)
  } finally {
    stop()
    if (!isPiped) await rm(draft, { force: true })
    await objects.close()
    await db.destroy()
  }
}

/** Creates a file, before a failure could remove it. */
async function openDraft(path: string): Promise<Writable> {
  const file = await open(path, 'w', 0o600)
  return file.createWriteStream({ flush: true })
}

export interface RestoreFlags extends DataPlace, ObjectStorage {
  readonly input: string
}

/** Creates an instance from an archive. */
export async function restore({ input, ...place }: RestoreFlags): Promise<void> {
  const { data } = place
  const storage = await openRestoredContents(place, data, createLog('warn'))
  const target = await openRestoreTarget(place).catch(async (error: unknown) => {
    await storage.close()
    throw error
  })
  const { progress, stop } = reportProgress()
  try {
    if (target.wasFinished) {
      print(`finished the interrupted restore of ${data}`)
      return
    }
    const source = input === STANDARD_STREAM ? process.stdin : createReadStream(input)
    const { contents } = storage
    const about = await restoreBackup(source, { ...target, contents }, progress)
    const { timeMs, version } = about
    const time = new Date(timeMs).toISOString()
    print(`restored ${data} as it was at ${time}, by Branchline ${version}`)
    print(describeProgress(progress))
    if (about.isWithoutObjects) print(NO_OBJECTS)
  } finally {
    stop()
    await target.release()
    await storage.close()
  }
}

const NO_OBJECTS =
  'the archive has no attachments: copy those that its objects/ lists to their keys before you serve'

/** The time between two lines on a terminal, and in a log. */
const TERMINAL_INTERVAL_MS = 1_000
const LOG_INTERVAL_MS = 10_000

/** Prints how far a command has come on standard error, until it is stopped. */
function reportProgress(): { readonly progress: Progress; stop(): void } {
  const progress: Progress = { rows: 0, checkedRows: 0, repositories: 0, files: 0, attachments: 0 }
  const intervalMs = process.stderr.isTTY ? TERMINAL_INTERVAL_MS : LOG_INTERVAL_MS
  const timer = setInterval(() => {
    process.stderr.write(`so far: ${describeProgress(progress)}\n`)
  }, intervalMs)
  return { progress, stop: () => clearInterval(timer) }
}

/** Describes what an archive has, or what was restored of it. */
function describeProgress(progress: Progress): string {
  const { rows, checkedRows, repositories, files, attachments } = progress
  const checked = checkedRows > 0 ? ` (${checkedRows} compared with the backup)` : ''
  return `${rows} rows${checked}, ${repositories} repositories with ${files} files, ${attachments} attachments`
}

export interface MigrateFlags extends DataPlace {
  /** Undefined for the version of this program. */
  readonly to?: number
}

/** Migrates the database of a data folder. */
export async function migrate(flags: MigrateFlags): Promise<void> {
  const { from, to, ran } = await migrateData(flags, flags.to)
  print(
    ran.length === 0
      ? `the database is at version ${to}`
      : `version ${from} to ${to}: ${ran.join(', ')}`,
  )
}

export interface DoctorFlags extends DataPlace, ObjectStorage {
  readonly fsck: boolean
  readonly fix: boolean
  /** Whether to write the search index anew first. */
  readonly rebuildSearch: boolean
  readonly logLevel: LogLevel
}

/** Compares the database with the repositories. Sets the exit code 1 when problems are left. */
export async function doctor(flags: DoctorFlags): Promise<void> {
  const db = await openDataAsItIs(flags)
  const lock = flags.fix || flags.rebuildSearch ? await useData(flags, 'alone') : undefined
  const log = createLog(flags.logLevel)
  const objects = await openStores(flags, db, log)
  try {
    const app = await createApp({
      db,
      folder: flags.data,
      objects: objects.stores,
      settings: OPERATOR_SETTINGS,
      log,
    })
    if (flags.rebuildSearch) await rebuildSearch(db)
    let repaired = 0
    let left = 0
    const count = ({ subject, problem, outcome }: Finding) => {
      print(`${subject}: ${problem} (${outcome})`)
      if (outcome === 'repaired') repaired += 1
      else left += 1
    }
    for (const finding of await examineModes(flags)) count(finding)
    for await (const finding of examine(app, flags)) count(finding)
    // Repaired repositories are measured again in the background.
    await app.background.settled()
    const unchecked = await notExamined(app)
    if (unchecked !== undefined) process.stderr.write(`${unchecked}\n`)
    print(left + repaired === 0 ? 'nothing is wrong' : `${repaired} repaired, ${left} left`)
    if (left > 0) process.exitCode = 1
  } finally {
    await objects.close()
    await lock?.release()
    await db.destroy()
  }
}

export interface MoveStorageFlags extends DataPlace, ObjectStorage {
  readonly to: ContentStore
  readonly only?: ContentKind
  /** Bytes in a second. */
  readonly rate?: number
  readonly logLevel: LogLevel
}

/** Moves contents to another store. Sets the exit code 1 when some were not moved. */
export async function moveStorage(flags: MoveStorageFlags): Promise<void> {
  const { data, to, only, rate, logLevel } = flags
  if (!flags.objectStorage) throw new Error('--object-storage is missing: it names the S3 server')
  const db = await openDataAsItIs(flags)
  const log = createLog(logLevel)
  const objects = await openStores(flags, db, log)
  const counts = { moved: 0, bytes: 0, left: 0, failed: 0 }
  try {
    const parts = { db, folder: data, objects: objects.stores, settings: OPERATOR_SETTINGS, log }
    const app = await createApp(parts)
    for await (const result of moveContents(app, { to, only, bytesPerSecond: rate })) {
      counts[result.outcome] += 1
      if (result.outcome === 'moved') counts.bytes += result.bytes
      if (result.outcome === 'failed') print(`${result.key}: ${result.reason}`)
    }
    await app.background.settled()
  } finally {
    const { moved, bytes, left, failed } = counts
    print(`moved ${moved} to ${to} (${bytes} bytes), left ${left} as they were, failed ${failed}`)
    await objects.close()
    await db.destroy()
  }
  if (counts.failed > 0) process.exitCode = 1
}

/** Finds, and with --fix corrects, what other users may access of the data folder. */
async function examineModes({ data, fix }: DoctorFlags): Promise<Finding[]> {
  const found = (paths: readonly OpenPath[], outcome: Finding['outcome']) =>
    paths.map(({ path, mode }) => ({
      subject: path,
      problem: `other users may access it (mode ${modeText(mode)})`,
      outcome,
    }))
  if (!fix) return found(await openToOthers(data), '--fix repairs it')
  const { corrected, refused } = await closeToOthers(data)
  return [...found(corrected, 'repaired'), ...found(refused, 'its owner can repair it')]
}

/** Beside the bundle of this file. */
const STORAGE_PEER = fileURLToPath(new URL('./storage-peer.js', import.meta.url))

/** Tests the file system of a data folder. Sets the exit code 1 when a property is missing. */
export async function examineStorage({ data }: Pick<DataPlace, 'data'>): Promise<void> {
  await stat(data).catch(() => {
    throw new Error(`there is no ${data}: --data names the folder of an instance, or a new folder`)
  })
  let missing = 0
  for await (const { name, isMissing, text } of checkStorage(data, STORAGE_PEER)) {
    print(`${isMissing ? 'missing' : 'ok'}: ${name}${text === undefined ? '' : ` (${text})`}`)
    if (isMissing) missing += 1
  }
  print(missing === 0 ? 'nothing is missing' : `${missing} missing`)
  if (missing > 0) process.exitCode = 1
}

/** Prints what the limbo has: repository, date, bytes and objects, a line for each prune. */
export async function listLimbo(place: DataPlace): Promise<void> {
  const db = await openDataAsItIs(place)
  try {
    for await (const { name, timeMs, bytes, objects } of readLimbo(db, repositoriesOf(place.data)))
      print(`${name} ${new Date(timeMs).toISOString()} ${bytes} ${objects}`)
  } finally {
    await db.destroy()
  }
}

/** Brings the removed objects of a repository back. */
export async function restoreLimbo(name: string, place: DataPlace): Promise<void> {
  const db = await openDataAsItIs(place)
  try {
    const count = await bringObjectsBack(db, repositoriesOf(place.data), name)
    print(`brought ${count} objects of ${name} back`)
  } finally {
    await db.destroy()
  }
}

export interface MaintainFlags extends DataPlace {
  readonly all: boolean
  readonly step: readonly string[]
  readonly pruneAfter: number | 'off'
  readonly logLevel: LogLevel
}

/** The time between two looks whether a running server has ended the steps of a repository. */
const LOOK_MS = 250

/**
 * Runs steps of maintenance of a repository, or of all: by the server that uses the data, or in this
 * process if there is none. Sets the exit code 1 when a step has failed.
 */
export async function maintain(target: string | undefined, flags: MaintainFlags): Promise<void> {
  if ((target === undefined) !== flags.all)
    throw new Error('name one repository, such as ada/tools, or give --all')
  const steps = namedSteps(flags.step)
  const db = await openDataAsItIs(flags)
  const lock = await useData(flags, 'alone').catch((error: unknown) => {
    if (error instanceof DataFolderBusyError || error instanceof DatabaseBusyError) return undefined
    throw error
  })
  try {
    const found = await requestAsOperator(db, target, steps, systemClock.now())
    if (lock) await maintainAlone(db, flags)
    else if (flags.database === undefined) await wakeServer(flags.data)
    for (const { id, name } of found) {
      let result = await resultOfRequest(db, id)
      for (; result === undefined; result = await resultOfRequest(db, id)) await pause(LOOK_MS)
      print(`${name}: ${result === '' ? steps.join(', ') : `failed: ${result}`}`)
      if (result !== '') process.exitCode = 1
    }
  } finally {
    await lock?.release()
    await db.destroy()
  }
}

async function maintainAlone(db: Db, { data, logLevel, pruneAfter }: MaintainFlags): Promise<void> {
  const app = await createApp({
    db,
    folder: data,
    settings: { ...OPERATOR_SETTINGS, pruneAfterMs: unlessWord(pruneAfter) },
    log: createLog(logLevel),
  })
  await finishMaintenance(app)
  await app.background.settled()
}

export interface UserFlags extends DataPlace {
  readonly username: string
  readonly role: 'admin' | 'user'
  readonly email: string
  readonly displayName: string
  readonly minPasswordLength: number
  readonly passwordStdin: boolean
  readonly logLevel: LogLevel
}

/** Creates an account, with the password from standard input. */
export async function createUser(flags: UserFlags): Promise<void> {
  const password = (await buffer(process.stdin)).toString('utf8').replace(/\r?\n$/, '')
  const db = await openData(flags)
  try {
    const settings = { ...OPERATOR_SETTINGS, minPasswordLength: flags.minPasswordLength }
    const app = await createApp({
      db,
      folder: flags.data,
      settings,
      log: createLog(flags.logLevel),
    })
    const user = await createUserAsOperator(app, {
      username: flags.username,
      userId: '',
      email: flags.email,
      display_name: flags.displayName,
      avatar_url: '',
      description: '',
      password,
      role: flags.role === 'admin' ? 'ADMIN' : 'USER',
      state: 'NORMAL',
    })
    print(`created users/${user.username} (${flags.role})`)
  } finally {
    await db.destroy()
  }
}

const NO_QUOTAS = {
  account: undefined,
  organization: undefined,
  repository: undefined,
  instance: undefined,
  defaultGroups: [],
}

export interface SshKeysFlags {
  readonly data: string
  readonly sshHostKeys: readonly string[]
}

export type SshKeysStep = 'list' | 'rotate' | 'activate'

const HOST_KEY_STEPS = {
  list: listHostKeys,
  rotate: rotateHostKeys,
  activate: activateHostKeys,
} as const

/** Prints the host keys of SSH, after a change. */
export async function sshKeys(step: SshKeysStep, flags: SshKeysFlags): Promise<void> {
  if (flags.sshHostKeys.length > 0)
    throw new Error(
      'the files of --ssh-host-keys are yours: change them, then start the server again',
    )
  for (const key of await HOST_KEY_STEPS[step](hostKeysFolderOf(flags.data))) {
    const { type, fingerprint, isActive } = publicPartOf(key)
    print(`${isActive ? 'present' : 'next'} ${type} ${fingerprint}`)
  }
}

/** Settings for an operator at the command line, to whom the limits for users do not apply. */
const OPERATOR_SETTINGS: Settings = {
  registration: 'closed',
  passwordSignIn: true,
  basicPassword: true,
  minPasswordLength: 0,
  privateInstance: false,
  usernameChange: true,
  displayNameChange: true,
  statsBy: 'create',
  memoContentBytes: 8192,
  webhookRetryScheduleMs: [],
  maxPushBytes: 0,
  maxAssetBytes: 0,
  maxAttachmentBytes: 0,
  attachmentTypes: [],
  mailFrom: undefined,
  defaultMergeStyle: 'merge',
  signing: false,
  wipPrefixes: [],
  diffMaxLines: 0,
  diffMaxLineCharacters: 0,
  issueRate: 0,
  codeIndexBytes: 0,
  lfs: true,
  maxLfsBytes: 0,
  lfsLinkExpiryMs: 0,
  lfsPushCheck: true,
  lfsUnreferencedAfterMs: undefined,
  refuseLfsPointers: false,
  maxFileBytes: undefined,
  quotas: NO_QUOTAS,
  maxRepositories: undefined,
  maintenance: false,
  maintenanceWindow: undefined,
  pruneAfterMs: undefined,
  limboMs: 14 * 24 * 60 * 60_000,
  gitHooks: false,
  hookTimeoutMs: 30_000,
  defaultPageSize: undefined,
  maxPageSize: undefined,
}

/** The bundle of the process spawner, next to the bundled server (`scripts/setup/bundle.mjs`). */
const PROCESS_SPAWNER = fileURLToPath(new URL('./process-spawner.js', import.meta.url))

/** The bundle of the SSH program, next to it. */
const SSH_PROGRAM = fileURLToPath(new URL('./ssh-program.js', import.meta.url))

/** The bundle of the program that renders Markdown, likewise. */
const MARKUP_PROGRAM = fileURLToPath(new URL('./markup-program.js', import.meta.url))

/**
 * Time for calls in flight to finish after SIGTERM. Service managers commonly send SIGKILL after 30
 * seconds.
 */
const SHUTDOWN_GRACE_MS = 20_000

/**
 * Time for calls in flight of a worker process that another one has replaced: that of most clones.
 * Until then both need memory.
 */
const RETIREMENT_GRACE_MS = 60 * 60_000

/** Time for clients to send their next request on a silent connection of such a process. */
const LEAVING_MS = 5_000

/** The longest time that this process takes to end after everything is closed. */
const MAX_ENDING_MS = 2_000

const STOP_SIGNALS: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT']

/** Serves until a signal. */
export async function serve(flags: ServeFlags): Promise<void> {
  const log = createLog(flags.logLevel)
  const server = await start(flags, log)
  const { stopDelay: delayMs } = flags
  // A signal may follow as soon as the line below is printed.
  stopOnSignal(server, delayMs, log)
  // Without SSH the signal ends the process, as by default.
  if (server.sshAddress !== undefined) process.on('SIGHUP', () => server.readHostKeys())
  print(`branchline listening on ${server.url}`)
  if (server.sshAddress !== undefined) print(`branchline ssh listening on ${server.sshAddress}`)
}

/** Serves as a worker process, until the primary process says so or ends. */
export async function serveAsWorker(flags: ServeFlags): Promise<void> {
  const primary = await PrimaryProcess.connect()
  const log = createSharedLog(flags.logLevel, primary.worker)
  try {
    const server = await start(flags, log, primary)
    // A service manager may signal all processes at once, and the primary process passes on the end.
    for (const name of STOP_SIGNALS) process.on(name, () => primary.leave())
    primary.ready({
      announceStop: () => server.announceStop(),
      readHostKeys: () => server.readHostKeys(),
      drain: () => drain(server, log, SHUTDOWN_GRACE_MS),
      retire: () => retire(server, log),
    })
  } catch (error) {
    const reason = explained(error)
    await primary.fail(reason instanceof Error ? reason.message : String(reason))
    process.exit(1)
  }
}

async function start(flags: ServeFlags, log: Logger, primary?: PrimaryProcess): Promise<Server> {
  const config = readConfig(flags)
  const spawner = new ProcessSpawner(PROCESS_SPAWNER, (reason) =>
    log.warn({ reason }, 'the process spawner has ended; the server starts Git processes itself'),
  )
  try {
    return await startServer(config, log, {
      spawner,
      markupProgram: MARKUP_PROGRAM,
      sshProgram: SSH_PROGRAM,
      ...(primary && { workers: primary }),
    })
  } catch (error) {
    spawner.stop()
    throw error
  }
}

/**
 * Announces the stop on the first signal, and drains the server and exits 0 after a delay. Exits at
 * once on the second signal.
 */
function stopOnSignal(server: Server, delayMs: number, log: Logger): void {
  let stopping = false
  const stop = (signal: NodeJS.Signals) => {
    if (stopping) process.exit(1)
    stopping = true
    server.announceStop()
    if (delayMs === 0) return drain(server, log, SHUTDOWN_GRACE_MS, signal)
    log.info({ signal, delayMs }, 'reporting that the server is not ready, before it stops')
    setTimeout(() => drain(server, log, SHUTDOWN_GRACE_MS, signal), delayMs)
  }
  for (const name of STOP_SIGNALS) process.on(name, stop)
}

/** Lets the clients of this process go to another one. Ends this process after their calls. */
function retire(server: Server, log: Logger): void {
  server.leave()
  setTimeout(() => drain(server, log, RETIREMENT_GRACE_MS), LEAVING_MS)
}

/** Finishes the calls in flight, then ends this process. */
function drain(server: Server, log: Logger, graceMs: number, signal?: NodeJS.Signals): void {
  log.info({ signal }, 'finishing the calls in flight')
  server.close(graceMs).then(
    () => end(0),
    (err: unknown) => {
      log.error({ err }, 'the shutdown failed')
      end(1)
    },
  )
}

/**
 * Ends this process, in which nothing is left to do. `process.exit` frees the memory of nodegit
 * while threads of nodegit still use that memory: a thread reports the end of its work before it
 * releases its locks. Node waits for these threads only when a process ends by itself.
 */
function end(code: number): void {
  process.exitCode = code
  process.channel?.unref()
  setTimeout(() => process.exit(code), MAX_ENDING_MS).unref()
}

/** Returns an error with a message for the operator. */
export function explained(error: unknown): unknown {
  if (!(error instanceof DomainError)) return error
  return new Error(refusal(error.reason, error.metadata).rawMessage, { cause: error })
}
