// `npm run test:node -- 24`: runs some stories on another version of Node, in a copy of the clone.
// More arguments select other tests: `npm run test:node -- 24 platform/rpc`.
import { delimiter } from 'node:path'
import { run } from './setup/child-process.mjs'
import { withLock } from './setup/lock.mjs'
import { copyClone, copyFolder, ensureOtherNode, OTHER_NODES } from './setup/other-node.mjs'
import { explainFailure, Failure, printLine, step } from './setup/progress.mjs'

/** Git, accounts, merges, start and stop, and differences of Node's HTTP between its versions. */
const STORIES = [
  'stories/accounts',
  'stories/repositories/branch-pushes',
  'stories/repositories/ref-updates',
  'stories/pulls/pull-merges',
  'stories/server/start-stop',
  'platform/http/listener',
  'platform/rpc/rest/end-to-end',
]

const [major = '', ...selection] = process.argv.slice(2)

process.exitCode = await explainFailure(async () => {
  const version = Object.entries(OTHER_NODES).find(([known]) => known === major)?.[1]
  if (version === undefined) {
    const known = Object.keys(OTHER_NODES)
    throw new Failure(
      `Say on which Node to test, ${known.join(' or ')}, such as \`npm run test:node -- ${known[0]}\`.`,
    )
  }
  let bin = ''
  await step('other Node', async (say) => {
    bin = await ensureOtherNode(version, say)
    return version
  })
  const copy = copyFolder(version)
  const onWait = (/** @type {number} */ owner) =>
    printLine('..', `process ${owner} uses ${copy}; waiting`)
  return withLock(`${copy}.lock`, onWait, async () => {
    copyClone(copy)
    const tests = selection.length > 0 ? selection : STORIES
    const env = { PATH: [bin, process.env.PATH].join(delimiter) }
    const { code } = await run('node', ['scripts/test.mjs', ...tests], {
      cwd: copy,
      env,
      show: true,
    })
    return code ?? 1
  })
})
