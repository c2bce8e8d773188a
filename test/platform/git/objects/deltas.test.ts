import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { MAX_READ_BYTES, ObjectFiles } from '../../../../src/platform/git/objects/object-files.ts'
import { applyDelta } from '../../../../src/platform/git/objects/pack-files.ts'
import {
  INSTRUCTION_WORK,
  MAX_OBJECT_WORK,
} from '../../../../src/platform/git/processes/read-work.ts'
import {
  type Repositories,
  repositoryPath,
} from '../../../../src/platform/git/repositories/repositories.ts'
import {
  type DeltaPart,
  deltaOf,
  type Packed,
  PackWriter,
  partsOf,
} from '../../../support/hostile-packs.ts'
import { execFileSync } from '../../../support/programs.ts'
import { type Random, seededRandom } from '../../rpc/rest/random.ts'
import { testRepositories } from '../fixture.ts'

const NO_LIMITS = { maxBytes: MAX_READ_BYTES, maxInstructions: Number.POSITIVE_INFINITY }

/** Lengths at which the form of an instruction changes. */
const LENGTHS = [1, 2, 31, 32, 33, 127, 128, 255, 256, 257, 0xffff, 0x10000, 0x10001] as const

/** Random inserts and copies: overlapping ones, the longest ones, ones at the end of the base. */
function randomParts(random: Random, baseBytes: number): DeltaPart[] {
  return Array.from({ length: 1 + random.below(12) }, () => {
    const wanted = random.below(2) === 0 ? random.pick(LENGTHS) : 1 + random.below(40)
    if (baseBytes === 0 || random.below(3) === 0)
      return Buffer.from(Array.from({ length: Math.min(wanted, 300) }, () => random.below(256)))
    const length = Math.min(wanted, baseBytes)
    return {
      offset: random.pick([0, baseBytes - length, random.below(baseBytes - length + 1)]),
      length,
      times: 1 + random.below(3),
    }
  })
}

function randomBytes(random: Random, length: number): Buffer {
  return Buffer.from(Array.from({ length }, () => random.below(256)))
}

/** Stores a pack in repository 1, with an index by Git. */
async function withPack(pack: PackWriter): Promise<{ repositories: Repositories; path: string }> {
  const repositories = await testRepositories(1)
  const path = repositoryPath(repositories, 1)
  execFileSync('git', ['-C', path, 'index-pack', '--stdin'], { input: pack.bytes() })
  return { repositories, path }
}

/** Chains of random deltas. */
function randomPack(random: Random): { pack: PackWriter; objects: Packed[] } {
  const pack = new PackWriter()
  const objects: Packed[] = []
  for (let chain = 0; chain < 5; chain++) {
    let last = pack.add('blob', randomBytes(random, random.pick([0, 1, 500, 70_000])))
    objects.push(last)
    for (let link = 0; link < 12; link++) {
      const parts = randomParts(random, last.content.length)
      if (partsOf(last.content, parts).length > MAX_READ_BYTES) continue
      last = pack.addDelta(last, parts)
      objects.push(last)
    }
  }
  return { pack, objects }
}

it.each([1, 2, 3])('random deltas result in what Git reads, seed %i', async (seed) => {
  const { pack, objects } = randomPack(seededRandom(seed))
  const { repositories, path } = await withPack(pack)
  const files = new ObjectFiles(repositories, 1)
  for (const { id } of objects) {
    const expected = execFileSync('git', ['-C', path, 'cat-file', 'blob', id])
    expect(await files.inspect(id)).toEqual({ id, type: 'blob', bytes: expected.length })
    expect((await files.read(id))?.content.equals(expected)).toBe(true)
  }
  files.close()
})

it('a pack with wrong bytes gives right objects or none', async () => {
  const random = seededRandom(4)
  const { pack, objects } = randomPack(random)
  const { repositories, path } = await withPack(pack)
  const folder = join(path, 'objects/pack')
  const name = readdirSync(folder).find((file) => file.endsWith('.pack')) ?? ''
  const right = readFileSync(join(folder, name))
  chmodSync(join(folder, name), 0o600)
  let read = 0
  for (let round = 0; round < 40; round++) {
    const wrong = Buffer.from(right)
    for (let i = 0; i < 20; i++) wrong[random.below(wrong.length)] = random.below(256)
    const length = round % 2 === 0 ? wrong.length : random.below(wrong.length)
    writeFileSync(join(folder, name), wrong.subarray(0, length))
    const files = new ObjectFiles(repositories, 1)
    for (const { id, content } of objects) {
      await files.inspect(id)
      const object = await files.read(id)
      if (!object) continue
      expect(object.content.equals(content)).toBe(true)
      read += 1
    }
    files.close()
  }
  expect(read).toBeGreaterThan(0)
})

it('a delta with any wrong bytes fails or stays within its limits', () => {
  const random = seededRandom(5)
  for (let round = 0; round < 3000; round++) {
    const base = randomBytes(random, random.below(400))
    const parts = randomParts(random, base.length)
    const expected = partsOf(base, parts)
    const delta = deltaOf(base.length, expected.length, parts)
    const right = applyDelta(base, delta, { ...NO_LIMITS, maxBytes: Number.POSITIVE_INFINITY })
    // An assertion for each delta would take most of the time.
    if (!right.content?.equals(expected)) expect.fail(`the right delta of round ${round}`)
    const cut = delta.subarray(0, random.below(delta.length))
    delta[random.below(delta.length)] = random.below(256)
    for (const wrong of [delta, cut]) {
      try {
        const { content } = applyDelta(base, wrong, NO_LIMITS)
        if (content && content.length > MAX_READ_BYTES) throw new Error(`${content.length} bytes`)
      } catch (error) {
        if (!(error instanceof RangeError)) throw error
      }
    }
  }
})

it('instructions are counted, and no more than allowed are followed', () => {
  const base = Buffer.from('base')
  const parts: DeltaPart[] = [{ offset: 0, length: 1, times: 1000 }, Buffer.from('x')]
  const delta = deltaOf(base.length, 1001, parts)
  expect(applyDelta(base, delta, NO_LIMITS).instructions).toBe(1001)
  expect(applyDelta(base, delta, { ...NO_LIMITS, maxInstructions: 1001 }).content).toBeDefined()
  expect(applyDelta(base, delta, { ...NO_LIMITS, maxInstructions: 1000 })).toEqual({
    content: undefined,
    instructions: 1000,
  })
})

it('a chain is read as far as the work of one object suffices', async () => {
  const pack = new PackWriter()
  const instructions = Math.floor(MAX_OBJECT_WORK / INSTRUCTION_WORK / 5)
  const copies = { offset: 0, length: 1, times: instructions }
  const chain = [pack.add('blob', 'x'.repeat(instructions))]
  for (let n = 1; n <= 12; n++)
    chain.push(pack.addDelta(pack.last, [copies, Buffer.from(String(n))]))
  const { repositories } = await withPack(pack)
  const isRead: boolean[] = []
  for (const { id } of chain) {
    const { readTurns } = repositories
    const before = readTurns.total
    const files = new ObjectFiles(repositories, 1)
    const object = await files.read(id)
    files.close()
    // The last step may exceed the limit by the work of one entry.
    expect(readTurns.total - before).toBeLessThan(MAX_OBJECT_WORK + MAX_READ_BYTES)
    isRead.push(object !== undefined)
  }
  expect(isRead.slice(0, 4)).toEqual([true, true, true, true])
  expect(isRead.slice(5)).toEqual(Array(8).fill(false))
})
