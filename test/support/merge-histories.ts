import type { Random } from '../platform/rpc/rest/random.ts'
import type { ScriptedCommit, ScriptedFile } from './histories.ts'

/** Two branches that are to be merged, on refs of their own. */
export interface MergeHistory {
  readonly base: string
  readonly head: string
  readonly commits: readonly ScriptedCommit[]
}

type Tree = Map<string, Exclude<ScriptedFile, null>>

/** A branch as far as it is written. */
interface Branch {
  readonly ref: string
  tree: Tree
  /** Changes that another branch may make too. */
  readonly edits: Edit[]
}

type Edit = (tree: Tree) => void

const LINES = 12
const FOLDERS = ['', 'src/', 'src/deep/', 'docs/', 'Docs/'] as const
const NAMES = ['a', 'b', 'c.txt', 'd.txt', 'README', 'readme'] as const

const text = (lines: readonly string[], end = '\n') => lines.map((line) => line + end).join('')

const isText = (file: ScriptedFile | undefined): file is string =>
  typeof file === 'string' && !file.includes('\0')

/** Puts a file where it may be: what is in the way, above or below, is gone. */
function put(tree: Tree, path: string, file: Exclude<ScriptedFile, null>): void {
  for (const other of tree.keys()) {
    if (other.startsWith(`${path}/`) || path.startsWith(`${other}/`)) tree.delete(other)
  }
  tree.set(path, file)
}

function move(tree: Tree, from: string, to: string): void {
  const file = tree.get(from)
  if (file === undefined || from === to) return
  tree.delete(from)
  put(tree, to, file)
}

function changeText(tree: Tree, path: string, change: (lines: string[]) => string[]): void {
  const file = tree.get(path)
  if (!isText(file)) return
  const end = file.includes('\r') ? '\r\n' : '\n'
  tree.set(path, text(change(file.split(end).slice(0, -1)), end))
}

/**
 * None about line ends but that one: with them and files of the other kind, a work tree is full of
 * changes from the beginning.
 */
const ATTRIBUTES = [
  '*.txt merge=union',
  '* -merge',
  '[attr]whole -merge -diff\n*.txt whole',
  'README binary\n* text=auto',
  'a merge=nobody-knows',
] as const

/**
 * What is needed to make a change, drawn at once, so that the same change can be made on another
 * branch.
 */
interface Draw {
  readonly path: string
  readonly other: string
  readonly folder: string
  readonly line: number
  readonly choice: number
}

const CHANGES: Readonly<Record<string, (tree: Tree, draw: Draw) => void>> = {
  line: (tree, { path, line, choice }) =>
    changeText(tree, path, (lines) => lines.with(line % lines.length, `changed ${choice}`)),
  ends: (tree, { path, line, choice }) =>
    changeText(tree, path, (lines) => [`first ${choice}`, ...lines, `last ${line}`]),
  cut: (tree, { path, line }) =>
    changeText(tree, path, (lines) => (lines.length > 4 ? lines.toSpliced(line % 4, 2) : lines)),
  crlf(tree, { path }) {
    const file = tree.get(path)
    if (isText(file))
      tree.set(
        path,
        file.includes('\r') ? file.replaceAll('\r', '') : file.replaceAll('\n', '\r\n'),
      )
  },
  add: (tree, { other, choice }) =>
    put(tree, other, text(Array.from({ length: LINES }, (_, n) => `${n < 9 ? n : choice}`))),
  remove(tree, { path }) {
    if (tree.size > 1) tree.delete(path)
  },
  move: (tree, { path, other }) => move(tree, path, other),
  'move and change'(tree, { path, other, line, choice }) {
    move(tree, path, other)
    changeText(tree, other, (lines) => lines.with(line % lines.length, `moved ${choice}`))
  },
  'move a folder'(tree, { folder, choice }) {
    const inside = [...tree.keys()].filter((path) => folder !== '' && path.startsWith(folder))
    for (const path of inside) move(tree, path, `moved-${choice}/${path.slice(folder.length)}`)
  },
  mode(tree, { path }) {
    const file = tree.get(path)
    if (isText(file)) tree.set(path, { mode: '100755', content: file })
    else if (typeof file === 'object' && 'content' in file && file.mode === '100755')
      tree.set(path, file.content)
  },
  link: (tree, { path, line, choice }) =>
    put(tree, choice === 0 ? path : `link-${choice}`, {
      mode: '120000',
      content: `target ${line % 2}`,
    }),
  submodule: (tree, { other, line, choice }) =>
    put(tree, choice === 0 ? other : 'module', {
      mode: '160000',
      id: `${1 + (line % 4)}`.repeat(40),
    }),
  binary: (tree, { line, choice }) => put(tree, `image-${choice}`, `\0${'x'.repeat(40)}\0${line}`),
  'file to folder': (tree, { path, choice }) => put(tree, `${path}/inner`, `${choice}\n`),
  attributes: (tree, { line, choice }) =>
    put(
      tree,
      choice === 0 ? 'src/.gitattributes' : '.gitattributes',
      `${ATTRIBUTES[line % ATTRIBUTES.length]}\n`,
    ),
  nothing() {},
}

/** Text is what most people change. */
const USUAL_CHANGES = [
  'line',
  'line',
  'line',
  'ends',
  'cut',
  'add',
  'move',
  'move and change',
  'remove',
]

const MESSAGES: readonly Pick<ScriptedCommit, 'message' | 'encoding'>[] = [
  { message: 'Change' },
  {
    message:
      'Change\n\nFor a reason.\n# Not a comment\n\n\nSigned-off-by: Ada <ada@example.org>\n\n',
  },
  { message: '\n \nBlank lines in front\n' },
  { message: '' },
  { message: '\n\n' },
  { message: 'fixup! Change\n' },
  { message: 'Grüße  \n\ttab\r\n' },
  { message: Buffer.from('Gr\xfc\xdfe\n', 'latin1'), encoding: 'ISO-8859-1' },
  { message: Buffer.from('Gr\xfc\xdfe, nowhere said how, \xc3\xbc\n', 'latin1') },
  { message: Buffer.from('\x83e\x83X\x83g\n', 'latin1'), encoding: 'Shift_JIS' },
  { message: Buffer.from('not \xff\xff Japanese\n', 'latin1'), encoding: 'EUC-JP' },
]

const AUTHORS = [
  'Ada <ada@example.org>',
  'Bob "B." O\'Hara <bob@example.org>',
  'Zoë <>',
  ' <nobody@example.org>',
] as const

/** Writes histories of two branches by chance. */
class Writer {
  readonly commits: ScriptedCommit[] = []
  readonly #random: Random

  constructor(random: Random) {
    this.#random = random
  }

  /** A change that fits what is there. */
  draw(tree: Tree): Edit {
    const random = this.#random
    // Git finds fault with attributes in a link, or a folder of their name.
    const paths = [...tree.keys()].filter((path) => !path.endsWith('.gitattributes'))
    const kinds = random.below(3) < 2 ? USUAL_CHANGES : Object.keys(CHANGES)
    const kind = kinds[random.below(kinds.length)] ?? ''
    const draw = {
      path: paths[random.below(paths.length)] ?? 'a',
      other: `${random.pick(FOLDERS)}${random.pick(NAMES)}`,
      folder: random.pick(FOLDERS),
      line: random.below(LINES),
      choice: random.below(3),
    }
    return (on) => CHANGES[kind]?.(on, draw)
  }

  /** Puts a commit on a branch that makes the tree of the branch another one. */
  commit(branch: Branch, tree: Tree, parents?: readonly string[]): void {
    const random = this.#random
    const { message, encoding } =
      random.below(3) === 0
        ? (MESSAGES[random.below(MESSAGES.length)] ?? { message: '' })
        : { message: `Commit ${this.commits.length}\n` }
    const gone = [...branch.tree.keys()]
      .filter((path) => !tree.has(path))
      .map((path) => [path, null] as const)
    const there = [...tree].filter(([path, file]) => branch.tree.get(path) !== file)
    this.commits.push({
      on: branch.ref,
      message,
      ...(encoding === undefined ? {} : { encoding }),
      ...(parents === undefined ? {} : { parents }),
      author: random.pick(AUTHORS),
      files: Object.fromEntries([...gone, ...there]),
    })
    branch.tree = tree
  }

  /** Puts commits on a branch, of which some do what others did elsewhere. */
  grow(branch: Branch, count: number, elsewhere: readonly Edit[] = []): void {
    for (let i = 0; i < count; i += 1) {
      const known = elsewhere[this.#random.below(elsewhere.length)]
      const edits = known && this.#random.below(4) === 0 ? [known] : [this.draw(branch.tree)]
      if (this.#random.below(4) === 0) edits.push(this.draw(branch.tree))
      const tree = new Map(branch.tree)
      for (const edit of edits) edit(tree)
      const [only] = edits
      if (edits.length === 1 && only) branch.edits.push(only)
      this.commit(branch, tree)
    }
  }

  /** Makes another branch of one, with a commit of its own. */
  fork(from: Branch, ref: string): Branch {
    const branch = { ref, tree: from.tree, edits: [] }
    const tree = new Map(from.tree)
    this.draw(tree)(tree)
    this.commit(branch, tree, [from.ref])
    return branch
  }

  /** Merges a branch as somebody may who takes the one side where in doubt. */
  merge(into: Branch, from: string, other: Tree): void {
    const tree = new Map(other)
    for (const [path, file] of into.tree) put(tree, path, file)
    this.commit(into, tree, [into.ref, from])
  }
}

/** A history by chance. */
export function mergeHistory(random: Random, name: string): MergeHistory {
  const writer = new Writer(random)
  const ref = (branch: string) => `refs/heads/${name}/${branch}`
  const base: Branch = { ref: ref('base'), tree: new Map(), edits: [] }
  writer.commit(base, firstTree(random))
  writer.grow(base, random.below(2))
  const isRelated = random.below(20) > 0
  const head = isRelated
    ? writer.fork(base, ref('head'))
    : { ...base, ref: ref('head'), tree: new Map() }
  if (!isRelated) writer.commit(head, firstTree(random))
  writer.grow(base, random.below(4))
  writer.grow(head, random.below(4), base.edits)
  const kind = random.below(6)
  if (kind === 0) {
    const side = writer.fork(head, ref('side'))
    writer.grow(side, 1 + random.below(2), base.edits)
    writer.grow(head, 1 + random.below(2))
    writer.merge(head, side.ref, side.tree)
  }
  if (kind === 1) writer.merge(head, base.ref, base.tree)
  if (kind === 2 && isRelated) {
    const before = writer.fork(base, ref('before'))
    writer.merge(base, head.ref, head.tree)
    writer.merge(head, before.ref, before.tree)
  }
  writer.grow(base, random.below(3), head.edits)
  writer.grow(head, random.below(3), base.edits)
  return { base: base.ref, head: head.ref, commits: writer.commits }
}

function firstTree(random: Random): Tree {
  const paths = random
    .shuffle(FOLDERS.flatMap((folder) => NAMES.map((name) => folder + name)))
    .slice(0, 7)
  const files = paths.map(
    (path) => [path, text(Array.from({ length: LINES }, (_, n) => `${path} ${n}`))] as const,
  )
  const rare = [
    ['module', { mode: '160000', id: '1'.repeat(40) }],
    ['link-1', { mode: '120000', content: 'target 0' }],
    ['image-1', '\0binary\0'],
    ['.gitattributes', `${random.pick(ATTRIBUTES)}\n`],
  ] as const
  return new Map<string, Exclude<ScriptedFile, null>>([
    ...files,
    ...rare.filter(() => random.below(4) === 0),
  ])
}
