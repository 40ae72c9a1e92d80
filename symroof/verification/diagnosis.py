from symroof.verification.judgement import Finding
from symroof.verification.context import Context
def diagnosed(finding: Finding, context: Context) -> Finding:
    return finding
