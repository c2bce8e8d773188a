import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { CLIENTS } from '../../scripts/clients/list.mjs'
import { callsOf, readResults, readTables, tablesOf } from '../../scripts/clients/table.mjs'

const results = await readResults()
const run = CLIENTS.filter(({ unavailable }) => unavailable === undefined)

describe('the tables of clients of other projects', () => {
  it('are those that `npm run clients` wrote', async () => {
    expect(await readTables(), 'run `npm run clients`').toBe(tablesOf(CLIENTS, results))
  })

  it.each(run)('have the present version of $name', ({ name, version }) => {
    expect(results[name]?.version, `run \`npm run clients -- ${name}\``).toBe(version)
  })

  it.each(run)('have the present calls of $name', async ({ name, program, leftOut = {} }) => {
    const called = results[name]?.outcomes.map((outcome) => outcome.name) ?? []
    expect(new Set(called).size).toBe(called.length)
    if (program !== undefined)
      expect(called.toSorted()).toEqual((await callsOf(program)).toSorted())
    // A call that is left out exists.
    expect(called).toEqual(expect.arrayContaining(Object.keys(leftOut)))
  })

  it('name the versions that are installed', () => {
    const { devDependencies } = JSON.parse(readFileSync('package.json', 'utf8'))
    for (const name of ['gitea-js', 'forgejo-js']) {
      expect(run.find((client) => client.name === name)?.version).toContain(devDependencies[name])
    }
    const requirements = readFileSync('test/clients/unmodified/python/requirements.txt', 'utf8')
    for (const name of ['py-gitea', 'pyforgejo']) {
      const version = run.find((client) => client.name === name)?.version.split(' ')[0]
      expect(requirements).toContain(`\n${name}==${version}\n`)
    }
    for (const folder of ['woodpecker', 'go-scm']) {
      const module = readFileSync(`test/clients/unmodified/go/${folder}/go.mod`, 'utf8')
      const version = run.find((client) => client.program === `go/${folder}/main.go`)?.version
      expect(module).toContain(version?.replace(' (Go proxy)', ''))
    }
  })
})
