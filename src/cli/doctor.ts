import { Command } from 'commander'
import { dataOption, logLevelOption } from '../config/options.ts'
import type { DoctorFlags } from './actions/doctor.ts'
import { run } from './run.ts'

/** `branchline doctor` */
export function doctorCommand(): Command {
  return new Command('doctor')
    .description('compare the database with the repositories; exits 1 when problems are left')
    .addOption(dataOption())
    .option('--fsck', 'let Git check every object of every repository too', false)
    .option(
      '--fix',
      'repair the problems that can be repaired; only with the server stopped',
      false,
    )
    .addOption(logLevelOption())
    .action((flags: DoctorFlags) => run(({ doctor }) => doctor(flags)))
}
