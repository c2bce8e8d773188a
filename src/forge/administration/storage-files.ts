import { execFile } from 'node:child_process'
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
import { promisify } from 'node:util'
import { expectThat, type Guarantee } from './storage-guarantee.ts'

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
export const fileGuarantees: readonly Guarantee[] = [
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
