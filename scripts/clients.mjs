// `npm run clients`: runs clients that we did not write, unmodified, against the server, and writes what
// happened into docs/clients.md. Downloads the clients. Parts of names, such as
// `npm run clients -- gitea-js woodpecker`, run some of them, and the rows of the others stay.
import { CLIENTS } from './clients/list.mjs'
import { readTables, tablesOf, writeTables } from './clients/table.mjs'
import { explainFailure, Failure, printLine, step } from './setup/progress.mjs'
import { setUp } from './setup/set-up.mjs'

await explainFailure(async () => {
  const wanted = process.argv.slice(2).map((text) => text.toLowerCase())
  const chosen = CLIENTS.filter(({ name }) => {
    return wanted.length === 0 || wanted.some((text) => name.toLowerCase().includes(text))
  })
  if (chosen.length === 0) throw new Failure(`No client has this name: ${wanted.join(', ')}.`)
  await setUp('test')
  /** @type {Record<string, import('./clients/list.mjs').Outcome[]>} */
  const results = {}
  let failures = 0
  for (const client of chosen) {
    if (client.run === undefined) {
      printLine('skip', `${client.name}: ${client.unavailable}`)
      continue
    }
    const { name, run, leftOut = {} } = client
    await step(name, async () => {
      const outcomes = await run(client)
      results[name] = outcomes
      const failed = outcomes.filter((outcome) => !outcome.passed && !(outcome.name in leftOut))
      for (const { name: call, expected, happened } of failed) {
        const told = `${JSON.stringify(expected)} was expected, ${JSON.stringify(happened)} happened`
        printLine('FAIL', `${call}: ${told}`)
      }
      failures += failed.length
      return `${outcomes.length} calls, ${failed.length} failed`
    })
  }
  await writeTables(tablesOf(CLIENTS, results, await readTables()))
  if (failures > 0) process.exitCode = 1
})
