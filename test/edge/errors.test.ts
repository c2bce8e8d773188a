import { readdirSync } from 'node:fs'
import { expect, it } from 'vitest'

const FORGE = new URL('../../src/forge/', import.meta.url)

it('each reason has one row in one subject', async () => {
  const areas = readdirSync(FORGE, { recursive: true, encoding: 'utf8' }).filter(
    (file) => /(\/errors|\.errors)\.ts$/.test(file) && file !== 'core/errors.ts',
  )
  const modules: object[] = await Promise.all(
    areas.map((file) => import(new URL(file, FORGE).href)),
  )
  const tables = modules
    .flatMap((area) => Object.values(area))
    .filter((value) => !Array.isArray(value))
  const reasons = tables.flatMap((table) => Object.keys(table))
  expect(reasons.length).toBeGreaterThan(areas.length)
  expect(reasons.filter((reason, i) => reasons.indexOf(reason) !== i)).toEqual([])
})
