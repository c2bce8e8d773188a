import { describe, expect, it } from 'vitest'
import { changedNames, folderIn } from '../../../../src/platform/git/objects/tree-changes.ts'
import { type Random, seededRandom } from '../../rpc/rest/random.ts'

/** Modes and ids by name. */
type Tree = ReadonlyMap<string, string>

const id = (digit: string) => digit.repeat(40)

function contentOf(tree: Tree): Buffer {
  const entries = [...tree].sort(([one], [other]) => (one < other ? -1 : 1))
  return Buffer.concat(
    entries.flatMap(([name, value]) => {
      const [mode, objectId = ''] = value.split(' ')
      return [Buffer.from(`${mode} ${name}\0`), Buffer.from(objectId, 'hex')]
    }),
  )
}

/** Ids whose bytes look like parts of entries, so that a wrong boundary would show. */
function randomTree(random: Random): Tree {
  const values = Array.from({ length: random.below(6) }, () => {
    const mode = random.pick(['100644', '100755', '40000', '120000'])
    const objectId = random.pick([
      id('1'),
      id('0'),
      '20'.repeat(20),
      '3130303634342061'.padEnd(40, '0'),
    ])
    return [random.pick(['a', 'aa', 'b', 'c', 'ü']), `${mode} ${objectId}`] as const
  })
  return new Map(values)
}

describe('the names of changed entries of two trees', () => {
  it('are those whose mode or object differs', () => {
    const random = seededRandom(1)
    for (let i = 0; i < 3000; i++) {
      const [one, other] = [randomTree(random), randomTree(random)]
      const names = [...new Set([...one.keys(), ...other.keys()])]
      const expected = names.filter((name) => one.get(name) !== other.get(name))
      const changed = changedNames(contentOf(one), contentOf(other))
      expect([...(changed ?? [])].sort()).toEqual(expected.sort())
    }
  })

  it('do not include entries whose modes Git shows alike', () => {
    const [one, other] = ['100644', '100664'].map((mode) =>
      contentOf(new Map([['a', `${mode} ${id('1')}`]])),
    ) as [Buffer, Buffer]
    expect(changedNames(one, other)).toEqual(new Set())
  })

  it('do not exist for damaged trees', () => {
    const tree = contentOf(new Map([['a', `100644 ${id('1')}`]]))
    expect(changedNames(tree, tree.subarray(0, -1))).toBeUndefined()
    expect(changedNames(Buffer.from('100644'), tree)).toBeUndefined()
  })
})

it('a folder is found by its name, and no file is', () => {
  const tree = contentOf(
    new Map([
      ['a', `100644 ${id('1')}`],
      ['b', `40000 ${id('2')}`],
    ]),
  )
  const ids = ['a', 'b', 'c'].map((name) => folderIn(tree, Buffer.from(name)))
  expect(ids).toEqual(['none', id('2'), 'none'])
  expect(folderIn(tree.subarray(1, -1), Buffer.from('c'))).toBeUndefined()
})
