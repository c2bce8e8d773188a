import { Command } from 'commander'
import { serveOptions } from '../config/options.ts'
import type { ServeFlags } from '../config.ts'
import { tuneForStart } from '../server/garbage-collection.ts'
import { run } from './run.ts'

/** `branchline serve` */
export function serveCommand(): Command {
  const command = new Command('serve').description(
    'serve until SIGTERM or SIGINT; a second signal exits at once',
  )
  for (const option of serveOptions()) command.addOption(option)
  return command.action((flags: ServeFlags) => {
    tuneForStart()
    return run(({ serve }) => serve(flags))
  })
}
