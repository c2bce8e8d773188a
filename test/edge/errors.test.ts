import { readdirSync } from 'node:fs'
import { expect, it } from 'vitest'

const FOLDER = new URL('../../src/transport/errors/', import.meta.url)

it('each reason has one row in one area', async () => {
  const areas = readdirSync(FOLDER).filter((file) => !['index.ts', 'refusal.ts'].includes(file))
  const modules: object[] = await Promise.all(
    areas.map((file) => import(new URL(file, FOLDER).href)),
  )
  const tables = modules
    .flatMap((area) => Object.values(area))
    .filter((value) => !Array.isArray(value))
  const reasons = tables.flatMap((table) => Object.keys(table))
  expect(reasons.length).toBeGreaterThan(areas.length)
  expect(reasons.filter((reason, i) => reasons.indexOf(reason) !== i)).toEqual([])
})
