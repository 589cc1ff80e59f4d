# `packages/build` fills in what is written in capitals: a formula for a tap. The release has it as skill-evals.rb.
class SkillEvals < Formula
  desc "Evals of agent skills: do they trigger, stay quiet, and get followed"
  homepage "REPOSITORY"
  version "VERSION"
  license any_of: ["MIT", "Apache-2.0"]

  on_macos do
    on_arm do
      url "ARCHIVE aarch64-apple-darwin"
      sha256 "SHA256 aarch64-apple-darwin"
    end
    on_intel do
      url "ARCHIVE x86_64-apple-darwin"
      sha256 "SHA256 x86_64-apple-darwin"
    end
  end

  on_linux do
    depends_on "bubblewrap"

    on_arm do
      url "ARCHIVE aarch64-unknown-linux-musl"
      sha256 "SHA256 aarch64-unknown-linux-musl"
    end
    on_intel do
      url "ARCHIVE x86_64-unknown-linux-musl"
      sha256 "SHA256 x86_64-unknown-linux-musl"
    end
  end

  def install
    bin.install "skill-evals"
    generate_completions_from_executable(bin/"skill-evals", "completions")
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/skill-evals --version")
  end
end
