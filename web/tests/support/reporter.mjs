// Prints as cargo's tests do, so that all are counted alike: a line for each test, and `test result: …` at the end.
export default async function* report(source) {
  const count = { passed: 0, failed: 0, ignored: 0 };
  const began = Date.now();
  for await (const { type, data } of source) {
    if (type === 'test:diagnostic' && data.message.startsWith('figure: ')) yield `${data.message}\n`;
    if (type === 'test:stdout') yield data.message;
    if (type === 'test:stderr') yield data.message;
    // A file, or a group of tests, isn't a test.
    if ((type !== 'test:pass' && type !== 'test:fail') || data.details?.type === 'suite') continue;
    if (/\.test\.mjs$/.test(data.name) && type === 'test:pass') continue;
    if (data.skip !== undefined && data.skip !== false) {
      count.ignored += 1;
      yield `test ${data.name} ... ignored, ${data.skip}\n`;
    } else if (type === 'test:pass') {
      count.passed += 1;
      yield `test ${data.name} ... ok (${(data.details.duration_ms / 1000).toFixed(1)} s)\n`;
    } else {
      count.failed += 1;
      const error = data.details.error?.cause ?? data.details.error;
      yield `test ${data.name} ... FAILED\n${error?.stack ?? error}\n`;
    }
  }
  const result = count.failed === 0 ? 'ok' : 'FAILED';
  yield `test result: ${result}. ${count.passed} passed; ${count.failed} failed; ${count.ignored} ignored; 0 measured; 0 filtered out; finished in ${((Date.now() - began) / 1000).toFixed(2)}s\n`;
}
