import { spawnSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import {
  GroupLock,
  lockDataFolderAfterOrphans,
} from '../../../../src/platform/database/coordination/group-lock.ts'
import { DataFolderBusyError, lockDataFolder } from '../../../../src/platform/database/data-lock.ts'

let folder: string
const ends: (() => unknown)[] = []

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'branchline-'))
})

afterEach(async () => {
  for (const end of ends.splice(0)) end()
  await rm(folder, { recursive: true })
})

const TULIPS = { id: 7, primaryPid: process.pid }
const ROSES = { id: 8, primaryPid: process.pid }

const joinGroup = async (group = TULIPS) => {
  const lock = await GroupLock.join(folder, group)
  ends.push(() => lock.release())
  return lock
}

it('processes of one group have the folder together, and others find it busy', async () => {
  await joinGroup()
  await joinGroup()
  expect(() => lockDataFolder(folder)).toThrow(DataFolderBusyError)
  await expect(joinGroup(ROSES)).rejects.toThrow(DataFolderBusyError)
})

it('a process of a group finds the folder busy while a command has it', async () => {
  const command = lockDataFolder(folder)
  await expect(joinGroup()).rejects.toThrow(DataFolderBusyError)
  command.release()
  await joinGroup()
})

it('another group can have the folder when all processes have ended, and the first one again', async () => {
  const locks = [await joinGroup(), await joinGroup()]
  for (const lock of locks) lock.release()
  const other = await joinGroup(ROSES)
  await expect(joinGroup(TULIPS)).rejects.toThrow(DataFolderBusyError)
  other.release()
  await joinGroup(TULIPS)
})

it('a process works alone when the others have ended, and shares the folder again', async () => {
  const lock = await joinGroup()
  const other = await joinGroup()
  let worked = 0
  const work = lock.alone(
    async () => worked === 0,
    async () => {
      expect(() => lockDataFolder(folder)).toThrow(DataFolderBusyError)
      worked += 1
    },
  )
  await new Promise((resolve) => setImmediate(resolve))
  expect(worked).toBe(0)
  other.release()
  await work
  expect(worked).toBe(1)
  await joinGroup()
})

it('a process does not work alone when that is not needed', async () => {
  const lock = await joinGroup()
  await joinGroup()
  await lock.alone(
    async () => false,
    () => Promise.reject(new Error('not needed')),
  )
})

it('servers wait for processes whose primary process has ended, and for no others', async () => {
  const { pid: endedPid } = spawnSync(process.execPath, ['--version'])
  const orphan = await joinGroup({ id: 9, primaryPid: endedPid })
  const waiting = [joinGroup(), lockDataFolderAfterOrphans(folder)]
  const outcomes = waiting.map((wait) =>
    wait.then(
      () => 'has the folder',
      () => 'finds the folder busy',
    ),
  )
  await new Promise((resolve) => setImmediate(resolve))
  orphan.release()
  // One of them is first, and its primary process runs.
  expect((await Promise.all(outcomes)).sort()).toEqual(['finds the folder busy', 'has the folder'])
  for (const wait of waiting)
    wait.then(
      (lock) => lock.release(),
      () => {},
    )
})
