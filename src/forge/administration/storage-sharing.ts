import { mkdir, open, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type DataLock, lockDataFolder } from '../../platform/database/data-lock.ts'
import { expectThat } from './storage-guarantee.ts'
import type { StoragePeer } from './storage-peer.ts'

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
export const sharedGuarantees: readonly SharedGuarantee[] = [
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
