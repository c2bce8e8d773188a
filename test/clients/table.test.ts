import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { CLIENTS } from '../../scripts/clients/list.mjs'
import { callsOf, readRow, readTables, tablesOf } from '../../scripts/clients/table.mjs'

const tables = await readTables()
const run = CLIENTS.filter(({ unavailable }) => unavailable === undefined)

describe('the tables of clients of other projects', () => {
  it('are as `npm run clients` writes them', () => {
    expect(tables, 'run `npm run clients`').toBe(tablesOf(CLIENTS, {}, tables))
  })

  it('keep the rows of clients that do not run', () => {
    const [first, second] = run
    if (!first || !second) throw new Error('there are no clients')
    const outcome = { expected: 1, passed: false, happened: '|' }
    const outcomes = [
      { ...outcome, name: 'a' },
      { ...outcome, name: 'b' },
    ]
    const clients = [first, { ...second, leftOut: { b: 'there is no b' } }]
    const failed = tablesOf(clients, { [first.name]: [], [second.name]: outcomes }, '')
    expect(failed).toContain(`| ${second.name} | \`a\` | \`1\` | \`"¦"\` |`)
    expect(failed).toContain(`| ${second.name} | \`b\` | there is no b |`)
    expect(readRow(second.name, failed)).toEqual({ version: second.version, calls: 2 })
    expect(tablesOf(clients, { [first.name]: [] }, failed)).toBe(failed)
    const repaired = tablesOf(clients, { [second.name]: [] }, failed)
    expect(repaired).toBe(tablesOf(clients, { [first.name]: [], [second.name]: [] }, ''))
  })

  it.each(run)('have the present version of $name', ({ name, version }) => {
    expect(readRow(name, tables).version, `run \`npm run clients -- ${name}\``).toBe(version)
  })

  it.each(run)('have the present calls of $name', async ({ name, program, leftOut = {} }) => {
    if (program !== undefined) {
      const calls = await callsOf(program)
      expect(new Set(calls).size).toBe(calls.length)
      expect(readRow(name, tables).calls).toBe(calls.length)
    }
    // A call that is left out exists.
    for (const call of Object.keys(leftOut)) expect(tables).toContain(`\`${call}\``)
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
