import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import {
  appendFile,
  link,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  statfs,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { type DataLock, lockDataFolder } from '../../platform/database/data-lock.ts'
import { StoragePeer } from './storage-peer.ts'

export interface StorageOutcome {
  readonly name: string
  readonly isMissing: boolean
  /** Why the property is missing, or a remark. */
  readonly text: string | undefined
}

/**
 * Tests what Git and Branchline need from the file system of a folder, by this process and a second
 * one. Removes all files of the test.
 *
 * @param peerProgram path of the bundled `storage-peer-program.ts`.
 */
export async function* checkStorage(
  folder: string,
  peerProgram: string,
): AsyncGenerator<StorageOutcome> {
  const place = join(folder, `storage-check-${randomUUID()}`)
  await mkdir(place, { mode: 0o700 })
  try {
    for (const { name, test } of fileGuarantees) yield await outcomeOf(place, name, test)
    for (const { name, test } of sharedGuarantees) {
      const peer = new StoragePeer(peerProgram)
      yield await outcomeOf(place, name, (own) => test(own, peer)).finally(() => peer.kill())
    }
  } finally {
    await rm(place, { recursive: true, force: true, maxRetries: 3 })
  }
}

async function outcomeOf(
  place: string,
  name: string,
  test: Guarantee['test'],
): Promise<StorageOutcome> {
  try {
    const own = join(place, randomUUID())
    await mkdir(own)
    return { name, isMissing: false, text: await test(own) }
  } catch (error) {
    return { name, isMissing: true, text: error instanceof Error ? error.message : String(error) }
  }
}

const run = promisify(execFile)

/** The longest name of most file systems, in bytes, on which Git relies for names of refs. */
const MAX_NAME_BYTES = 255

/** The number of files whose times are read. */
const TIMES = 5
/** Times may be in whole seconds. */
const MAX_DIFFERENCE_MS = 1_500

const MIN_FREE_BYTES = 100 * 1024 * 1024
const MIN_FREE_FILES = 1_000

const GIB = 1024 ** 3

/** Checks of properties that one process needs. */
const fileGuarantees: readonly Guarantee[] = [
  { name: 'a rename replaces a file', test: testRename },
  { name: 'a folder can be renamed, but not onto one with content', test: testFolders },
  { name: 'a hard link is the same file, and replaces none', test: testLinks },
  { name: 'files and folders can be flushed to the disk', test: testFlush },
  { name: 'what was written is read, also after an append and after the removal', test: testReads },
  { name: 'names differ by case', test: testCase },
  { name: 'names may have 255 bytes of any encoding', test: testNames },
  { name: 'the times of files are those of the clock of this machine', test: testTimes },
  { name: 'Git can create, pack and read a repository', test: testGit },
  { name: 'there is space for files', test: testSpace },
]

async function testRename(folder: string): Promise<undefined> {
  const [from, to] = [join(folder, 'from'), join(folder, 'to')]
  await writeFile(to, 'old')
  await writeFile(from, 'new')
  await rename(from, to)
  expectThat((await readFile(to, 'utf8')) === 'new', 'the old content is still there')
  expectThat((await readdir(folder)).length === 1, 'the old name is still there')
}

async function testFolders(folder: string): Promise<undefined> {
  const [from, to] = [join(folder, 'from'), join(folder, 'to')]
  await mkdir(from)
  await mkdir(to)
  await writeFile(join(from, 'file'), '')
  await rename(from, to)
  expectThat((await readdir(to)).length === 1, 'the content did not move')
  await mkdir(from)
  const code = await rename(from, to).then(() => undefined, codeOf)
  expectThat(code === 'ENOTEMPTY' || code === 'EEXIST', 'a folder with content was replaced')
}

async function testLinks(folder: string): Promise<undefined> {
  const [from, to] = [join(folder, 'from'), join(folder, 'to')]
  await writeFile(from, 'content')
  await link(from, to)
  const [one, other] = [await stat(from), await stat(to)]
  expectThat(one.ino === other.ino && one.nlink === 2, 'the link is another file')
  expectThat(
    (await link(from, to).then(() => undefined, codeOf)) === 'EEXIST',
    'a link replaced a file',
  )
}

async function testFlush(folder: string): Promise<undefined> {
  const file = await open(join(folder, 'file'), 'w')
  await file.writeFile('content')
  await file.sync().finally(() => file.close())
  const parent = await open(folder)
  await parent.sync().finally(() => parent.close())
}

async function testReads(folder: string): Promise<undefined> {
  const path = join(folder, 'file')
  await writeFile(path, 'one')
  const file = await open(path)
  try {
    await appendFile(path, ', two')
    expectThat((await readFile(path, 'utf8')) === 'one, two', 'the end of the file is missing')
    await rm(path)
    // A download goes on when its file is deleted.
    expectThat((await file.readFile('utf8')) === 'one, two', 'a removed file cannot be read')
  } finally {
    await file.close()
  }
}

async function testCase(folder: string): Promise<undefined> {
  await writeFile(join(folder, 'topic'), '')
  await writeFile(join(folder, 'TOPIC'), '')
  expectThat((await readdir(folder)).length === 2, 'two branches would be one file')
}

async function testNames(folder: string): Promise<undefined> {
  const names = [
    Buffer.alloc(MAX_NAME_BYTES, 'x'),
    Buffer.from([0xff, 0xfe, 0x80]),
    Buffer.from('e\u0301'),
  ]
  for (const name of names) await writeFile(Buffer.concat([Buffer.from(`${folder}/`), name]), '')
  const found = await readdir(folder, { encoding: 'buffer' })
  const isSame = names.every((name) => found.some((other) => name.equals(other)))
  expectThat(isSame, 'a file has another name than it was given')
}

/**
 * Caches of refs and packs are valid while the time of a file is the same, once it is older than
 * 2.5 seconds. Until then, a change may leave the time as it is.
 */
async function testTimes(folder: string): Promise<string> {
  const times: number[] = []
  for (let i = 0; i < TIMES; i++) {
    const path = join(folder, String(i))
    const beforeMs = Date.now()
    await writeFile(path, '')
    const { mtimeMs } = await stat(path)
    times.push(mtimeMs)
    const differenceMs = Math.max(beforeMs - mtimeMs, mtimeMs - Date.now())
    expectThat(
      differenceMs <= MAX_DIFFERENCE_MS,
      `the clocks differ by ${Math.round(differenceMs)} ms: synchronize them`,
    )
  }
  const isWhole = times.every((time) => time % 1_000 === 0)
  return isWhole ? 'in whole seconds' : 'finer than a second'
}

/** Git reads packs by mmap(2), which Node does not offer. */
async function testGit(folder: string): Promise<undefined> {
  const git = (...args: string[]) =>
    run('git', ['-C', folder, '-c', 'safe.directory=*', ...args], {
      env: { PATH: process.env.PATH, HOME: folder, GIT_CONFIG_NOSYSTEM: '1' },
    })
  await git('init', '-q', '--bare', '.')
  const { stdout: tree } = await git('hash-object', '-w', '-t', 'tree', '/dev/null')
  const identity = ['-c', 'user.name=doctor', '-c', 'user.email=doctor@localhost']
  const { stdout: commit } = await git(...identity, 'commit-tree', '-m', 'test', tree.trim())
  await git('update-ref', 'refs/heads/test', commit.trim())
  await git('pack-refs', '--all')
  await git('repack', '-adq')
  await git('fsck', '--strict')
  const { stdout: found } = await git('rev-parse', 'refs/heads/test')
  expectThat(found === commit, 'a branch has another commit')
}

async function testSpace(folder: string): Promise<string> {
  const { bavail, bsize, files, ffree } = await statfs(folder)
  const bytes = bavail * bsize
  // Some file systems have no fixed number of files, and report none.
  const isLimited = files > 0
  const text = `${(bytes / GIB).toFixed(1)} GiB${isLimited ? ` and ${ffree} files` : ''}`
  expectThat(bytes >= MIN_FREE_BYTES, `only ${text} are free`)
  expectThat(!isLimited || ffree >= MIN_FREE_FILES, `only ${text} are free`)
  return text
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined
}

/** A property that two processes need. */
interface SharedGuarantee {
  readonly name: string
  test(folder: string, peer: StoragePeer): Promise<undefined>
}

/** The number of files that two processes create at the same time. */
const FILES = 500
/** The time for the other process to receive its task. */
const START_DELAY_MS = 100

const REPLACEMENTS = 200
const REPLACED_BYTES = 64 * 1024

const ROUNDS = 20

/** Checks of properties that several processes need. */
const sharedGuarantees: readonly SharedGuarantee[] = [
  { name: 'one of two processes creates a file (O_EXCL)', test: testCreation },
  { name: 'others see the old or the new file during a rename', test: testReplacement },
  { name: 'changes of another process are seen at once', test: testVisibility },
  { name: 'a lock excludes another process, and ends with it', test: testLocks },
]

async function testCreation(folder: string, peer: StoragePeer): Promise<undefined> {
  const paths = Array.from({ length: FILES }, (_, i) => join(folder, String(i)))
  const startMs = Date.now() + START_DELAY_MS
  const theirs = peer.do({ kind: 'create', paths, startMs })
  // Awaited below.
  theirs.catch(() => {})
  await sleep(startMs - Date.now())
  const mine: string[] = []
  for (const path of paths) if (await createdNow(path)) mine.push(path)
  const created = [...mine, ...((await theirs) as string[])]
  expectThat(new Set(created).size === created.length, 'both processes have created a file')
  expectThat(created.length === paths.length, 'neither process has created a file')
}

async function createdNow(path: string): Promise<boolean> {
  try {
    const file = await open(path, 'wx')
    await file.close()
    return true
  } catch {
    return false
  }
}

async function testReplacement(folder: string, peer: StoragePeer): Promise<undefined> {
  const path = join(folder, 'file')
  await writeFile(path, Buffer.alloc(REPLACED_BYTES, 0))
  let isDone = false
  const done = peer
    .do({ kind: 'replace', path, times: REPLACEMENTS, bytes: REPLACED_BYTES })
    .finally(() => {
      isDone = true
    })
  // Awaited at the end.
  done.catch(() => {})
  try {
    while (!isDone) {
      const content = await readFile(path)
      const isWhole =
        content.length === REPLACED_BYTES && content.every((byte) => byte === content[0])
      expectThat(isWhole, 'a part of a file was read')
    }
  } finally {
    await done
  }
}

async function testVisibility(folder: string, peer: StoragePeer): Promise<undefined> {
  for (let i = 0; i < ROUNDS; i++) {
    const path = join(folder, String(i))
    // A client of a network file system may remember that a file is missing, or its size.
    const isThere = await stat(path).then(
      () => true,
      () => false,
    )
    expectThat(!isThere, 'a file was there too early')
    for (const text of ['one', 'longer than one', 'two']) {
      await peer.do({ kind: 'write', path, text })
      const found = await readFile(path, 'utf8').catch(() => undefined)
      expectThat(found !== undefined, 'a new file was not seen')
      expectThat(found === text, 'an older content was read')
    }
  }
}

async function testLocks(folder: string, peer: StoragePeer): Promise<undefined> {
  const [mine, theirs] = [join(folder, 'mine'), join(folder, 'theirs')]
  await mkdir(mine)
  await mkdir(theirs)
  const lock = lockDataFolder(mine)
  const isShared = await peer.do({ kind: 'lock', folder: mine })
  lock.release()
  expectThat(isShared === false, 'both processes hold a lock')
  expectThat((await peer.do({ kind: 'lock', folder: theirs })) === true, 'a lock cannot be taken')
  expectThat(tryLock(theirs) === undefined, 'both processes hold a lock')
  await peer.kill()
  const released = tryLock(theirs)
  expectThat(released !== undefined, 'the lock of a process that has ended remains')
  released.release()
}

function tryLock(folder: string): DataLock | undefined {
  try {
    return lockDataFolder(folder)
  } catch {
    return undefined
  }
}

/** A property of a file system on which Git or Branchline relies. */
interface Guarantee {
  readonly name: string
  /**
   * Tests the property in an empty folder of its own. Returns a remark for the operator.
   *
   * @throws Error with the reason why the property is missing.
   */
  test(folder: string): Promise<string | undefined>
}

/** @throws Error with the reason. */
function expectThat(condition: boolean, reason: string): asserts condition {
  if (!condition) throw new Error(reason)
}
