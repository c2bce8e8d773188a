// `npm run dev`: serves an instance with people, repositories and pull requests, from the folder
// data-dev, and rebuilds and restarts on each change of the sources. Arguments are those of `serve`.
import { join } from 'node:path'
import { DevServer } from './dev/dev-server.mjs'
import { seedOnce, signIns } from './dev/seed.mjs'
import { watchFolders } from './dev/watch.mjs'
import { bundle } from './setup/bundle.mjs'
import { bundleWeb } from './setup/bundle-web.mjs'
import { root } from './setup/child-process.mjs'
import { explainFailure, Failure, printLine, secondsSince, step } from './setup/progress.mjs'
import { setUp } from './setup/set-up.mjs'

const folder = join(root, 'data-dev')
const server = new DevServer([
  ...['--data', join(folder, 'data'), '--mail-dir', join(folder, 'mail')],
  ...['--registration', 'open', '--webhook-allowed-hosts', '127.0.0.1,localhost'],
  ...['--log-level', 'warn', ...process.argv.slice(2)],
])

let endWatch = () => {}
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.on(signal, async () => {
    endWatch()
    await server.stop()
    process.exit(0)
  })
}

await explainFailure(async () => {
  await setUp('serve')
  const url = await server.start()
  await step('people, repositories and pull requests', () => seedOnce(url)).catch(async (error) => {
    await server.stop()
    throw error
  })
  process.stdout.write(signIns(url))
})
endWatch = watchFolders([join(root, 'src'), join(root, 'gen')], rebuild)

/** The old server serves until the new sources compile. */
async function rebuild() {
  const startedAtMs = performance.now()
  try {
    const results = [await bundle(), await bundleWeb()]
    if (results.every((result) => result === 'up to date')) return
    await server.stop()
    const url = await server.start()
    printLine('ok', `restarted on ${url} (${secondsSince(startedAtMs)})`)
  } catch (error) {
    if (!(error instanceof Failure)) {
      // The server would go on without this process, and keep the folder.
      await server.stop()
      throw error
    }
    if (error.output) process.stderr.write(`${error.output}\n`)
    printLine('FAIL', error.message)
  }
}
